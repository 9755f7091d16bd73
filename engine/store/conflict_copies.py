"""Copies that sync programs make when they meet two versions of a file.

Such a copy may hold words that exist nowhere else, so it is reported and stays in place, but it is not used.
Copies with names that people use too (``Meeting 2.md``) are files like any other.
"""

from __future__ import annotations

import os
import re

from engine.errors import Problem
from engine.startup.lazy import expression
from engine.store.leftovers import is_leftover
from engine.store.paths import shown

_COPY = expression(
    r"""(?:
        \.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]+)?        # Syncthing
        | [ ]?\([^()]*\bconflicted\ copy\b.*\)            # Dropbox, Nextcloud, Obsidian Sync
        | [ ]\((?:Case\ Conflict|SFConflict\b).*\)        # Dropbox, Seafile
        | _conflict-\d{8}-\d{6}                           # ownCloud
    )(?P<suffix>\.[^.]*)?$""",
    re.VERBOSE | re.IGNORECASE,
)


def is_used(name: str) -> bool:
    """Whether a file is neither a leftover nor a conflict copy."""
    return not (is_leftover(name) or original_of(name))


def original_of(name: str) -> str:
    """The name of the file that a conflict copy is a copy of; empty if the file is none."""
    found = _COPY.search(name)
    return name[: found.start()] + (found["suffix"] or "") if found is not None and found.start() else ""


def copy_problem(folder: str, name: str, path: str) -> Problem | None:
    """Says that a file is a conflict copy, and what to do about it; ``None`` if it is none.

    Args:
        path: The file's path within the workspace.
    """
    original = original_of(name)
    if not original:
        return None
    what = f"is a copy of {shown(original)} that a sync program or file manager made, so it is not used"
    if os.path.lexists(f"{folder}/{original}"):
        hint = f"compare the two, move what you need to {shown(original)}, and delete the copy"
    else:
        hint = f"if you need it, rename it to {shown(original)}; otherwise delete it"
    return Problem(path, 0, what, hint, "warning")
