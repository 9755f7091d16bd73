"""Snapshots of folder trees, compared to find out what file events really changed."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine.store.leftovers import is_leftover

ChangeKind = Literal["added", "changed", "removed"]
EXCLUDED = (".git", "/scratch", "/memory.db*", "4913")
"""Ignored names; a leading slash anchors a name at the top of a watched folder.

Leftovers are ignored too; the last one is a file that vim writes to see whether it can.
"""


def _pattern(globs: Iterable[str]) -> Callable[[str], re.Match[str] | None]:
    return re.compile("|".join(map(fnmatch.translate, globs))).match


_ANYWHERE = _pattern(name for name in EXCLUDED if not name.startswith("/"))
_AT_THE_TOP = _pattern(name[1:] for name in EXCLUDED if name.startswith("/"))
_RACY_NS = 20_000_000
_Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """A file that was created, changed or deleted."""

    path: Path
    """Absolute path."""
    kind: ChangeKind


@dataclass(slots=True)
class _Folder:
    files: dict[str, _Signature] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)


class Tree:
    """Tracks modification time, size and inode of every regular file below some folders.

    Symlinks to files count as the file; symlinks to folders are not entered.

    Args:
        roots: Absolute folders, which need not exist yet.
        stopped: Checked between folders; ``True`` ends a scan early.
    """

    def __init__(self, roots: Iterable[Path], stopped: Callable[[], bool] = bool) -> None:
        self.roots = tuple(dict.fromkeys(str(root) for root in roots))
        self._stopped = stopped
        self._folders: dict[str, _Folder] = {}
        self._racy: set[str] = set()
        self.new_folders: list[str] = []

    @property
    def files(self) -> int:
        """Number of known files."""
        return sum(len(folder.files) for folder in self._folders.values())

    def look_everywhere(self, hints: Iterable[str] = ()) -> list[Change]:
        """Scan every folder; returns the differences from the last scan, ordered by path.

        Args:
            hints: Absolute paths for which events were reported.
        """
        return self._look_in(self.roots, set(hints), deep=True)

    def look_at(self, paths: Iterable[str]) -> list[Change]:
        """Scan the folders that contain the reported paths, and new folders inside them.

        Args:
            paths: Absolute paths of files or folders, existing or not.
        """
        named: set[str] = set()
        places: set[str] = set()
        for path in paths:
            root = self._root_of(path)
            if root is None or self._is_excluded(path, root):
                continue
            named.add(path)
            if path in self._folders:
                places.add(path)
            parent = path if path == root else os.path.dirname(path)  # noqa: PTH120 — plain strings, thousands at once
            while parent not in self._folders and parent != root:
                parent = os.path.dirname(parent)  # noqa: PTH120 — plain strings, thousands at once
            places.add(parent)
        return self._look_in(sorted(places), named, deep=False)

    def _look_in(self, places: Iterable[str], named: set[str], *, deep: bool) -> list[Change]:
        racy = self._racy & named
        before = {path: self._signature(path) for path in racy}
        changes: list[Change] = []
        for place in places:
            self._look(place, changes, deep=deep)
        reported = {str(change.path) for change in changes}
        for path in racy - reported:
            # Rewritten within one clock tick: only the event shows the change.
            if before[path] is not None and before[path] == self._signature(path):
                changes.append(Change(Path(path), "changed"))
        return sorted(changes, key=lambda change: str(change.path))

    def _look(self, start: str, changes: list[Change], *, deep: bool) -> None:
        waiting = [start]
        while waiting and not self._stopped():
            folder = waiting.pop()
            found = self._read(folder)
            if found is None:
                self._forget(folder, changes)
                continue
            known = self._folders.get(folder)
            if known is None:
                known = _Folder()
                self.new_folders.append(folder)
            self._compare(folder, known, found, changes)
            for name in known.folders - found.folders:
                self._forget(f"{folder}/{name}", changes)
            fresh = (
                found.folders if deep else {n for n in found.folders if f"{folder}/{n}" not in self._folders}
            )
            self._folders[folder] = found
            waiting += [f"{folder}/{name}" for name in sorted(fresh, reverse=True)]

    def _compare(self, folder: str, known: _Folder, found: _Folder, changes: list[Change]) -> None:
        for name, signature in found.files.items():
            old = known.files.get(name)
            if old != signature:
                changes.append(Change(Path(folder, name), "added" if old is None else "changed"))
        for name in known.files.keys() - found.files.keys():
            changes.append(Change(Path(folder, name), "removed"))
            self._racy.discard(f"{folder}/{name}")

    def _read(self, folder: str) -> _Folder | None:
        """A folder's current contents; ``None`` if deleted; the known contents if unreadable."""
        found = _Folder()
        is_top = folder in self.roots
        horizon = time.time_ns() - _RACY_NS
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if _ANYWHERE(name) or (is_top and _AT_THE_TOP(name)):
                        continue
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            found.folders.add(name)
                            continue
                        if is_leftover(name):
                            continue
                        status = entry.stat()
                    except OSError:
                        continue
                    if stat.S_ISREG(status.st_mode):
                        found.files[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
                        path = f"{folder}/{name}"
                        if status.st_mtime_ns > horizon:
                            self._racy.add(path)
                        else:
                            self._racy.discard(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return self._folders.get(folder, found)
        return found

    def _forget(self, start: str, changes: list[Change]) -> None:
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            known = self._folders.pop(folder, None)
            if known is None:
                continue
            for name in sorted(known.files):
                changes.append(Change(Path(folder, name), "removed"))
                self._racy.discard(f"{folder}/{name}")
            waiting += [f"{folder}/{name}" for name in sorted(known.folders)]

    def _signature(self, path: str) -> _Signature | None:
        folder, _, name = path.rpartition("/")
        known = self._folders.get(folder)
        return known.files.get(name) if known else None

    def _root_of(self, path: str) -> str | None:
        return next((root for root in self.roots if path == root or path.startswith(f"{root}/")), None)

    def _is_excluded(self, path: str, root: str) -> bool:
        names = path[len(root) + 1 :].split("/") if len(path) > len(root) else []
        if not names:
            return False
        return any(map(_ANYWHERE, names)) or is_leftover(names[-1]) or bool(_AT_THE_TOP(names[0]))
