"""Copies that sync programs make when they meet two versions of a file, and file managers when asked to.

Such a copy may hold words that exist nowhere else, so it is reported and stays in place, but it is not used.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

from engine.errors import AutopoiesisError, Problem
from engine.startup.lazy import expression
from engine.store import descriptors
from engine.store.documents import parse
from engine.store.leftovers import is_leftover
from engine.store.paths import shown

_LIMIT = 1024 * 1024
_COPY = expression(
    r"""(?:
        (?P<certain>
            \.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]+)?        # Syncthing
            | [ ]?\([^()]*\bconflicted\ copy\b.*\)            # Dropbox, Nextcloud, Obsidian Sync
            | [ ]\((?:Case\ Conflict|SFConflict\b).*\)        # Dropbox, Seafile
            | _conflict-\d{8}-\d{6}                           # ownCloud
        )
        | [ ]\d{1,2} | [ ]\(\d{1,2}\)                         # iCloud, Google Drive, browsers
        | [ ]copy(?:[ ]\d+)? | [ ]-[ ]Copy(?:[ ]\(\d+\))?     # Finder, Explorer
        | -(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]+                   # OneDrive
        | \.conflict\d+                                       # rclone
    )(?P<suffix>\.[^.]*)?$""",
    re.VERBOSE | re.IGNORECASE,
)


def looks_copied(name: str) -> bool:
    """Whether a file's name is one that a copy can have."""
    return _COPY.search(name) is not None


def is_used(folder: str, name: str) -> bool:
    """Whether a file is neither a leftover nor a conflict copy; ``folder`` is absolute."""
    return not (is_leftover(name) or original_of(folder, name))


def original_of(folder: str, name: str) -> str:
    """The name of the file that a conflict copy is a copy of; empty if the file is none.

    Some programs use names that people use too (``Meeting 2.md``): these are copies only beside an original
    with which they share most of their text.

    Args:
        folder: The absolute path of the file's folder.
    """
    found = _COPY.search(name)
    if found is None or not found.start():
        return ""
    original = name[: found.start()] + (found["suffix"] or "")
    if found["certain"]:
        return original
    try:
        stamps = [_stamp(f"{folder}/{each}") for each in (name, original)]
    except OSError:
        return ""
    return original if _is_alike(folder, name, original, *stamps) else ""


def copy_problem(folder: str, name: str, path: str) -> Problem | None:
    """Says that a file is a conflict copy, and what to do about it; ``None`` if it is none.

    Args:
        path: The file's path within the workspace.
    """
    original = original_of(folder, name)
    if not original:
        return None
    what = f"is a copy of {shown(original)} that a sync program or file manager made, so it is not used"
    if os.path.lexists(f"{folder}/{original}"):
        hint = f"compare the two, move what you need to {shown(original)}, and delete the copy"
    else:
        hint = f"if you need it, rename it to {shown(original)}; otherwise delete it"
    return Problem(path, 0, what, hint, "warning")


def _stamp(path: str) -> tuple[int, int, int]:
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=1024)
def _is_alike(folder: str, name: str, original: str, *_stamps: tuple[int, int, int]) -> bool:
    """Whether at least half of the lines of a file stand in another one."""
    try:
        lines, known = _lines(folder, name), _lines(folder, original)
    except (OSError, AutopoiesisError):
        return False
    return 2 * len(lines & known) >= len(lines)


def _lines(folder: str, name: str) -> set[str]:
    with descriptors.open_folder(Path(folder), ()) as parent:
        descriptor = descriptors.open_file(name, parent, os.O_RDONLY, name)
        try:
            data = descriptors.read_all(descriptor, _LIMIT, name)
        finally:
            os.close(descriptor)
    return {line.strip() for line in parse(data, name).body.splitlines() if line.strip()}
