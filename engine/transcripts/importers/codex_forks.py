"""Finds what a forked Codex session has copied from the session that it continues.

A fork's log begins with the records of its parent, which say the same under other times. Only the parent's
log tells where the copy ends, so without it nothing counts as copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engine.errors import ImportFailed
from engine.transcripts.importers.lines import Record, opened, read_lines
from engine.transcripts.importers.session import object_of, text_of

_LOGS, _ARCHIVE = "sessions", "archived_sessions"


def parents_records(stream: BinaryIO, path: Path) -> tuple[int, ...]:
    """The fingerprints of the records of the session that a log continues, in order; empty if it continues
    none, or if that one's log is gone.
    """
    head = next(_records(stream), {})
    parent_id = text_of(object_of(head, "payload"), "forked_from_id")
    parent = _log_of(parent_id, path) if parent_id else None
    if parent is None:
        return ()
    try:
        with opened(parent) as source:
            return tuple(map(fingerprint_of, _records(source)))
    except ImportFailed:
        return ()


def fingerprint_of(record: Record) -> int:
    """A number that is the same for a record and its copy, within this process."""
    return hash(json.dumps([record.get("type"), record.get("payload")], sort_keys=True))


def _records(stream: BinaryIO) -> Iterator[Record]:
    for line in read_lines(stream):
        yield from line.records


def _log_of(session_id: str, path: Path) -> Path | None:
    """The log of a session in the same folders of Codex as another's."""
    home = next((each.parent for each in path.parents if each.name in (_LOGS, _ARCHIVE)), None)
    folders = [path.parent] if home is None else [home / _LOGS, home / _ARCHIVE]
    found = (log for folder in folders for log in folder.rglob(f"rollout-*-{session_id}.jsonl*"))
    return next(found, None)
