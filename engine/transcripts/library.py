"""The transcripts of a workspace: listed cheaply, read whole, followed while they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from engine.errors import TranscriptError
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.chats.any import read_text
from engine.transcripts.importers.convert import read_log
from engine.transcripts.places import FOLDER, head_fields, read_head, session_files
from engine.transcripts.tail import Tail, TailedTurn
from engine.transcripts.turn import Transcript

__all__ = ["Tail", "TailedTurn", "TranscriptInfo", "list_transcripts", "read_transcript"]

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


def list_transcripts(workspace: Workspace, folder: str = FOLDER) -> list[TranscriptInfo]:
    """Every transcript, newest first. Only the first kilobytes of each are read."""
    found = (_info(workspace, path) for path in session_files(workspace, folder))
    infos = [info for info in found if info is not None]
    return sorted(infos, key=lambda info: (info.started, info.path), reverse=True)


def read_transcript(files: Files, path: str) -> Transcript:
    """A conversation as turns, whichever program wrote it: ours, plain text, or an agent's JSONL.

    Raises:
        TranscriptError: There is no such file.
        PathRefused, DocumentError: As ``Files.read``.
        ImportFailed: A log cannot be read.
    """
    if PurePosixPath(path).suffix.lower() == ".jsonl":
        real = files.workspace.resolve(path)
        if not real.exists():
            raise _missing(path)
        return read_log(real, path)
    try:
        return read_text(files.read(path), path)
    except FileNotFoundError:
        raise _missing(path) from None


def _missing(path: str) -> TranscriptError:
    return TranscriptError(
        "there is no such transcript", where=path, cure="list them: autopoiesis session list"
    )


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
    lines: Sequence[bytes] = head.split(b"\n")
    for line in lines[:-1]:
        if line.startswith(b"# "):
            return line[2:].decode("utf-8", "replace").strip()
        if line.startswith(b"## "):
            break
    return ""


def _slug_words(name: str, session_id: str) -> str:
    return name[5:-3].removeprefix(f"{session_id}-").replace("-", " ")
