"""Finds symlinks that leave the workspace and cache paths that are not regular files; never opens them."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator

from engine.errors import PathRefused, Problem
from engine.store.paths import Workspace, shown


def strays(workspace: Workspace) -> Iterator[Problem]:
    """Every symlink that leads out of the workspace, and every cache path that is not a regular file.

    Links are not followed. ``.git`` is skipped.
    """
    for folder, folders, names in os.walk(workspace.root):
        if folder == str(workspace.root) and ".git" in folders:
            folders.remove(".git")
        folders.sort()
        for name in sorted((*folders, *names)):
            place = os.path.join(folder, name)  # noqa: PTH118 — plain strings, thousands at once
            path = os.path.relpath(place, workspace.root)
            what = _what(workspace, path, place)
            if what:
                hint = f"see where it leads: ls -l; if it is not yours: rm {shlex.quote(shown(path))}"
                yield Problem(shown(path), 0, what, hint, "warning")


def _what(workspace: Workspace, path: str, place: str) -> str:
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return ""
    is_index = path.startswith(workspace.database.name)
    if stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and not is_index):
        return ""
    if is_index or path.startswith("scratch/"):
        kind = "a symlink" if stat.S_ISLNK(mode) else "not a regular file"
        what = "there is no search index and files are searched instead" if is_index else "it is not used"
        return f"is {kind}, so {what}"
    if stat.S_ISLNK(mode):
        try:
            workspace.resolve(path)
        except PathRefused as error:
            return f"is not followed: {error.what}"
    return ""
