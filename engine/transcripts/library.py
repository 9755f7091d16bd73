"""The transcripts of a workspace, listed cheaply."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.store.paths import Workspace
from engine.transcripts.places import head_fields, read_head, session_files

SUFFIXES = (".md", ".txt", ".jsonl")
"""What a conversation's file name ends with."""

_FIELDS = ("session_id", "started", "ended", "channel")


@dataclass(frozen=True, slots=True)
class TranscriptInfo:
    """A transcript as a list shows it."""

    path: str
    session_id: str  # from the header; empty when it has none
    started: str  # ISO 8601, UTC, as the header gives it; from the path when it does not
    ended: str  # the same for the end; empty while the session runs
    channel: str  # where the session took place
    title: str  # the first heading; the slug when it lies too deep
    size: int  # bytes
    mtime_ns: int  # nanoseconds since the epoch


def list_transcripts(workspace: Workspace) -> list[TranscriptInfo]:
    """Every transcript, newest first. Only the first kilobytes of each are read."""
    found = (_info(workspace, path) for path in session_files(workspace))
    infos = [info for info in found if info is not None]
    return sorted(infos, key=lambda info: (info.started, info.path), reverse=True)


def _info(workspace: Workspace, path: Path) -> TranscriptInfo | None:
    try:
        status = path.stat()
    except OSError:
        return None
    head = read_head(path)
    fields = head_fields(head, _FIELDS)
    relative = workspace.relative(path)
    year, month, day, name = relative.split("/")[-4:]
    return TranscriptInfo(
        path=relative,
        session_id=fields["session_id"],
        started=fields["started"] or f"{year}-{month}-{day}T{name[:2]}:{name[2:4]}:00Z",
        ended=fields["ended"],
        channel=fields["channel"],
        title=_title(head) or _slug_words(name, fields["session_id"]),
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )


def _title(head: bytes) -> str:
    for line in head.split(b"\n")[:-1]:
        if line.startswith(b"# "):
            return line[2:].decode("utf-8", "replace").strip()
        if line.startswith(b"## "):
            break
    return ""


def _slug_words(name: str, session_id: str) -> str:
    return name[5:-3].removeprefix(f"{session_id}-").replace("-", " ")
