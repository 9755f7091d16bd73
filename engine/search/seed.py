"""Creates an index as a copy of another one, for a workspace with mostly the same files (spec 7.3)."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import apsw

from engine.search import database, schema

_PAGES = 4_096
"""Pages copied at once; a writer of the other index waits no longer than that takes."""


def seed(path: Path, other: Path) -> bool:
    """Copy another index to ``path``. On failure, no index is left there.

    Every file is marked as changed, so that the next refresh reads it and compares its content; unchanged
    files keep their chunks and vectors. ``path`` must not exist; ``other`` may be in use.

    Returns:
        Whether the index was copied.
    """
    if os.path.lexists(path):
        return False
    try:
        source = database.open_reader(other)
        try:
            return _copy(source, path)
        finally:
            source.close()
    except (database.Unavailable, *database.FAULTS):
        database.remove(path)
        return False


def _copy(source: apsw.Connection, path: Path) -> bool:
    complete = schema.get_meta(source, "complete") == "1"
    if schema.version_of(source) != schema.VERSION or not complete:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    copy = database.open_writer(path)
    try:
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES)
        with copy:
            copy.execute("UPDATE files SET mtime_ns = -1")
            schema.set_meta(copy, "index", secrets.token_hex(8))
    finally:
        copy.close()
    return True
