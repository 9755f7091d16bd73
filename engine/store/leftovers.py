"""Backups, locks and state that editors, file managers and file systems leave beside a person's files.

They are never read, watched or committed.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path

from engine.startup.lazy import expression

EXCLUDES = Path(__file__).with_name("leftovers.gitignore")
"""Patterns of their names, in the form of a ``.gitignore``."""

_LINES = EXCLUDES.read_text("utf-8").splitlines()
_GLOBS = (line.removeprefix("\\") for line in _LINES if not line.startswith("# ") and "/" not in line)
_LEFTOVER = expression("|".join(map(fnmatch.translate, _GLOBS)))


def is_evicted(place: Path) -> bool:
    """Whether iCloud has taken a missing file off this machine and left a stand-in; it is not deleted."""
    return place.with_name(f".{place.name}.icloud").exists()


def is_leftover(name: str) -> bool:
    """Whether a file of this name is such a leftover; folders never are."""
    return _LEFTOVER.match(name) is not None
