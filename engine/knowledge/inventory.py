"""What stands below some folders of a workspace: one walk that follows no symlink and ends on any tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from engine.errors import AutopoiesisError, Problem
from engine.store.paths import TEMP_PREFIX, Workspace, shown

_DEEPEST = 64
"""Depth of nested folders; a person nests ten, a loop of bind mounts any number."""


@dataclass(frozen=True)
class Inventory:
    """Paths are workspace-relative with forward slashes; hidden ones are among them."""

    files: dict[str, int] = field(default_factory=dict)  # regular files with their bytes
    changed: dict[str, int] = field(default_factory=dict)  # when each was last written, nanoseconds
    folders: set[str] = field(default_factory=set)  # those asked for included
    symlinks: set[str] = field(default_factory=set)  # not followed
    odd: set[str] = field(default_factory=set)
    """Pipes, sockets and devices, and repositories of their own, which are not entered."""
    problems: list[Problem] = field(default_factory=list)  # what could not be looked into

    def listed(self, folder: str) -> list[str]:
        """Files below a folder as a prompt is made of them: sorted, without hidden ones."""
        below = f"{folder}/"
        return [path for path in self._sorted if path.startswith(below) and not hidden(path[len(below) :])]

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted({*self.files, *self.symlinks, *self.odd})


def hidden(path: str) -> bool:
    """Whether a part of a path begins with a dot."""
    return path.startswith(".") or "/." in path


def take(workspace: Workspace, folders: Iterable[str]) -> Inventory:
    """The inventory of some folders; one that does not exist is empty."""
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
    waiting = [(start, 1)]
    found.folders.add(start)
    while waiting:
        folder, depth = waiting.pop()
        if depth > _DEEPEST:
            what = f"is nested deeper than {_DEEPEST} folders and is not looked into"
            found.problems.append(Problem(shown(folder), 0, what, "move it up"))
            continue
        try:
            with os.scandir(workspace.root / folder) as entries:
                for entry in entries:
                    if not entry.name.startswith(TEMP_PREFIX):
                        _note(found, f"{folder}/{entry.name}", entry, waiting, depth)
        except OSError as error:
            what = f"cannot be looked into ({error.strerror or error})"
            found.problems.append(Problem(shown(folder), 0, what, "check its permissions"))


def _note(
    found: Inventory, path: str, entry: os.DirEntry[str], waiting: list[tuple[str, int]], depth: int
) -> None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return  # it was removed at the same moment
    if entry.name == ".git":
        found.odd.add(path)
    elif stat.S_ISLNK(status.st_mode):
        found.symlinks.add(path)
    elif stat.S_ISDIR(status.st_mode):
        found.folders.add(path)
        waiting.append((path, depth + 1))
    elif stat.S_ISREG(status.st_mode):
        found.files[path] = status.st_size
        found.changed[path] = status.st_mtime_ns
    else:
        found.odd.add(path)
