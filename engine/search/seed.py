"""Creates an index as a copy of another one, for a workspace with mostly the same files (spec 7.3)."""

from __future__ import annotations

import os
from pathlib import Path

from engine.search import database, schema
from engine.search.reports import Unavailable

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
            schema.require_complete(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            copy = database.open_writer(path)
            try:
                with copy.backup("main", source, "main") as backup:
                    while not backup.done:
                        backup.step(_PAGES)
                with copy:
                    copy.execute("UPDATE files SET mtime_ns = -1")
                    schema.set_meta(copy, "index", os.urandom(8).hex())
            finally:
                copy.close()
        finally:
            source.close()
    except (Unavailable, *database.FAULTS):
        database.remove(path)
        return False
    return True
