"""Where transcripts are: ``raw/conversations/YYYY/MM/DD/HHMM-{session_id}-{slug}.md`` (spec 2.1)."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import ImportFailed, PathRefused
from engine.store.paths import Workspace, slugify
from engine.store.yamltext import YamlError
from engine.store.yamltext import parse as parse_yaml
from engine.transcripts.importers.lines import opened

FOLDER = "raw/conversations"

_SLUG_LIMIT = 48
_HEAD_BYTES = 8 * 1024
_PLAIN = re.compile(rb"[A-Za-z0-9][A-Za-z0-9_.:-]*")
_NAME = re.compile(r"[0-9]{4}-(.+)\.md", re.DOTALL)


def session_path(session_id: str, started: datetime, title: str) -> str:
    """The path of a new transcript, workspace-relative.

    Args:
        started: Dated in UTC.
        title: What the slug is made from; ``session`` when empty.
    """
    at = started.astimezone(UTC)
    slug = slugify(title or "session", 2 * _SLUG_LIMIT)
    if len(slug) > _SLUG_LIMIT:
        slug = slug[: _SLUG_LIMIT + 1].rpartition("-")[0] or slug[:_SLUG_LIMIT]
    return f"{FOLDER}/{at:%Y/%m/%d/%H%M}-{session_id}-{slug}.md"


def find_session(workspace: Workspace, session_id: str) -> str | None:
    """The transcript of a session, newest first; ``None`` when there is none."""
    for path in session_files(workspace):
        if path.name[5:].startswith(f"{session_id}-") and session_of(path) == session_id:
            return workspace.relative(path)
    return None


def session_files(workspace: Workspace) -> Iterator[Path]:
    """Every file that is named like a transcript, newest day first and latest start first within it."""
    try:
        root = workspace.resolve(FOLDER)
    except PathRefused:
        return
    for year in _entries(root, folders=True):
        for month in _entries(year, folders=True):
            for day in _entries(month, folders=True):
                yield from (path for path in _entries(day, folders=False) if _NAME.fullmatch(path.name))


def session_of(path: Path) -> str:
    """The session id in a transcript's header; empty when it cannot be read."""
    return head_fields(read_head(path), ("session_id",))["session_id"]


def read_head(path: Path) -> bytes:
    """The first kilobytes of a regular file; nothing when it is not one or cannot be read."""
    with contextlib.suppress(ImportFailed), opened(path) as stream:
        return stream.read(_HEAD_BYTES)
    return b""


def head_fields(head: bytes, names: Collection[str]) -> dict[str, str]:
    """Top-level text fields of a header, from the first bytes of a file and without parsing all of it.

    Args:
        head: The first bytes of the file.
        names: The fields wanted; one that is missing is empty.
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
    """The folders named by numbers, or the files, last first."""
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
