"""Locates transcripts: ``raw/conversations/YYYY/MM/DD/HHMM-{session_id}-{slug}.md`` (spec 2.1).

Finding and listing them reads only the first kilobytes of each.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import ImportFailed, PathRefused
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.checkouts import place_of
from engine.store.paths import Workspace, slugify
from engine.store.yamltext import YamlError
from engine.store.yamltext import parse as parse_yaml
from engine.transcripts.brief import one_line
from engine.transcripts.importers.lines import opened

FOLDER = "raw/conversations"

SUFFIXES = (".md", ".txt", ".jsonl")
"""Suffixes of conversation files."""

REPOSITORY_FIELD = "repository"
"""Header field: the key of the session's repository, see ``engine.store.checkouts.Place``."""

AUTHOR_FIELD = "author"
"""Header field: who committed the conversation to a repository, if that was somebody else, or that a script
held it. It teaches nothing.
"""

_SLUG_LIMIT = 48
_HEAD_BYTES = 8 * 1024
_PLAIN = expression(rb"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_NAME = expression(r"[0-9]{4}-(.+)\.md", re.DOTALL)


def session_path(session_id: str, started: datetime, title: str) -> str:
    """The path of a new transcript, workspace-relative.

    Args:
        started: Converted to UTC.
        title: Source of the slug; ``session`` if empty.
    """
    at = started.astimezone(UTC)
    slug = slugify(title or "session", 2 * _SLUG_LIMIT)
    if len(slug) > _SLUG_LIMIT:
        slug = slug[: _SLUG_LIMIT + 1].rpartition("-")[0] or slug[:_SLUG_LIMIT]
    return f"{FOLDER}/{at:%Y/%m/%d/%H%M}-{session_id}-{slug}.md"


def find_session(workspace: Workspace, session_id: str) -> str | None:
    """The newest transcript of a session; ``None`` if there is none."""
    for path in session_files(workspace):
        if path.name[5:].startswith(f"{session_id}-") and session_of(path) == session_id:
            return workspace.relative(path)
    return None


def session_files(workspace: Workspace) -> Iterator[Path]:
    """All files named like a transcript, latest start first."""
    try:
        root = workspace.resolve(FOLDER)
    except PathRefused:
        return
    for year in _entries(root, folders=True):
        for month in _entries(year, folders=True):
            for day in _entries(month, folders=True):
                yield from (path for path in _entries(day, folders=False) if _NAME.fullmatch(path.name))


def session_of(path: Path) -> str:
    """The session id in a transcript's header; empty if it cannot be read."""
    return head_fields(read_head(path), ("session_id",))["session_id"]


def repository_of(folder: str, remote: str = "") -> str:
    """The key of the repository of a session's folder; empty if it is in none, or that is not known."""
    place = place_of(folder, remote)
    return one_line(place.key) if place is not None and place.is_repository else ""


def read_head(path: Path) -> bytes:
    """The first kilobytes of a regular file; empty if it is not one or cannot be read."""
    with contextlib.suppress(ImportFailed), opened(path) as stream:
        return stream.read(_HEAD_BYTES)
    return b""


def head_fields(head: bytes, names: Collection[str]) -> dict[str, str]:
    """Extract top-level text fields of a header without parsing all of it.

    Args:
        head: The first bytes of the file.
        names: The requested fields; missing ones are empty.
    """
    found = dict.fromkeys(names, "")
    if not head.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
        return found
    for line in head.split(b"\n")[1:]:
        if line.rstrip() == b"---":
            break
        key, colon, value = line.partition(b":")
        name = key.decode("utf-8", "replace")
        if colon and name in found:
            text = value.strip()
            found[name] = text.decode() if _PLAIN.fullmatch(text) else _parsed(line, name)
    return found


def _parsed(line: bytes, name: str) -> str:
    try:
        value = parse_yaml(line.decode("utf-8", "replace").rstrip("\r")).get(name)
    except YamlError:
        return ""
    return value if isinstance(value, str) else ""


def _entries(folder: Path, *, folders: bool) -> list[Path]:
    """The folders with numeric names, or the files, in descending order."""
    names: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            is_number = entry.name.isascii() and entry.name.isdigit()
            if (
                (is_number and entry.is_dir(follow_symlinks=False))
                if folders
                else entry.is_file(follow_symlinks=False)
            ):
                names.append(entry.name)
    return [folder / name for name in sorted(names, reverse=True)]


@dataclass(frozen=True, slots=True)
class TranscriptInfo:
    """Summary of a transcript."""

    path: str
    session_id: str  # from the header; empty if it has none
    started: str  # ISO 8601, UTC, from the header or else from the path
    ended: str  # from the header; empty while the session runs
    channel: str  # where the session took place
    title: str  # the first heading; the slug if that is not in the first kilobytes
    size: int  # bytes
    mtime_ns: int  # nanoseconds since the epoch


def list_transcripts(workspace: Workspace) -> list[TranscriptInfo]:
    """All transcripts, newest first. Reads only the first kilobytes of each."""
    found = (_info(workspace, path) for path in session_files(workspace))
    infos = [info for info in found if info is not None]
    return sorted(infos, key=lambda info: (info.started, info.path), reverse=True)


def _info(workspace: Workspace, path: Path) -> TranscriptInfo | None:
    try:
        status = path.stat()
    except OSError:
        return None
    head = read_head(path)
    fields = head_fields(head, ("session_id", "started", "ended", "channel"))
    relative = workspace.relative(path)
    year, month, day, name = relative.split("/")[-4:]
    return TranscriptInfo(
        path=relative,
        session_id=fields["session_id"],
        started=fields["started"] or f"{year}-{month}-{day}T{name[:2]}:{name[2:4]}:00Z",
        ended=fields["ended"],
        channel=fields["channel"],
        title=_title(head) or name[5:-3].removeprefix(f"{fields['session_id']}-").replace("-", " "),
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
