"""Lists the content of workspace folders in one walk that follows no symlinks and always ends."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from engine.errors import AutopoiesisError, Problem
from engine.store.paths import TEMP_PREFIX, Workspace, shown

_MAX_DEPTH = 64
"""Maximum folder depth; people nest about ten, but a loop of bind mounts is endless."""


@dataclass(frozen=True)
class Inventory:
    """Workspace-relative paths with forward slashes, including hidden ones."""

    files: dict[str, int] = field(default_factory=dict)  # regular files with their size in bytes
    changed: dict[str, int] = field(default_factory=dict)  # mtime of each, in nanoseconds
    folders: set[str] = field(default_factory=set)  # including the requested ones
    symlinks: set[str] = field(default_factory=set)  # not followed
    special: set[str] = field(default_factory=set)
    """Pipes, sockets and devices, and nested ``.git`` folders, which are not entered."""
    problems: list[Problem] = field(default_factory=list)  # folders that could not be read

    def listed(self, folder: str) -> list[str]:
        """Files below a folder as used for prompts: sorted, without hidden ones."""
        below = f"{folder}/"
        return [path for path in self._sorted if path.startswith(below) and not hidden(path[len(below) :])]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted({*self.files, *self.symlinks, *self.special})


def hidden(path: str) -> bool:
    """True if a part of a path starts with a dot."""
    return path.startswith(".") or "/." in path


def take_inventory(workspace: Workspace, folders: Iterable[str]) -> Inventory:
    """The inventory of some folders; missing folders are empty."""
    found = Inventory()
    for folder in folders:
        try:
            real = workspace.resolve(folder)
        except AutopoiesisError as error:
            found.problems.append(Problem(folder, 0, error.what, error.hint))
            continue
        if real.is_dir() and real != workspace.root:
            _walk(workspace, real.relative_to(workspace.root).as_posix(), found)
    return found


def _walk(workspace: Workspace, start: str, found: Inventory) -> None:
    stack = [(start, 1)]
    found.folders.add(start)
    while stack:
        folder, depth = stack.pop()
        if depth > _MAX_DEPTH:
            what = f"is nested deeper than {_MAX_DEPTH} folders and is skipped"
            found.problems.append(Problem(shown(folder), 0, what, "move it up"))
            continue
        try:
            with os.scandir(workspace.root / folder) as entries:
                for entry in entries:
                    if not entry.name.startswith(TEMP_PREFIX):
                        _note(found, f"{folder}/{entry.name}", entry, stack, depth)
        except OSError as error:
            what = f"cannot be read ({error.strerror or error})"
            found.problems.append(Problem(shown(folder), 0, what, "check its permissions"))


def _note(
    found: Inventory, path: str, entry: os.DirEntry[str], stack: list[tuple[str, int]], depth: int
) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # it was removed just now
    if entry.name == ".git":
        found.special.add(path)
    elif stat.S_ISLNK(status.st_mode):
        found.symlinks.add(path)
    elif stat.S_ISDIR(status.st_mode):
        found.folders.add(path)
        stack.append((path, depth + 1))
    elif stat.S_ISREG(status.st_mode):
        found.files[path] = status.st_size
        found.changed[path] = status.st_mtime_ns
    else:
        found.special.add(path)
