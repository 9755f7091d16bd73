"""Where a file that is gone may be now: looked for near its old place, with bounded work."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from engine.knowledge.bindings import Identity, Place, identity_of

LOOKED_AT = 20_000
"""Names that a search for a renamed file looks at."""
COMPARED = 64
"""Contents that it reads."""

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "scratch"})


class Search:
    """Looks for a file near the place where it was, with bounded work.

    ``is_cut`` says that the search stopped at its limits.
    """

    def __init__(self, old: Place) -> None:
        self._old = old
        self.is_cut = False

    def of_size(self, size: int) -> Iterator[tuple[Path, Identity]]:
        """The files of a length."""
        yield from self._identified(path for path, status in self._files() if status.st_size == size)

    def like(self, name: Path, identity: Identity) -> Iterator[tuple[Path, Identity]]:
        """The files that may be what became of one: of its length, inode, name or kind, in that order."""
        ranked: list[tuple[int, Path]] = []
        for path, status in self._files():
            if status.st_size == identity.size:
                ranked.append((0, path))
            elif (status.st_dev, status.st_ino) == (identity.device, identity.inode):
                ranked.append((1, path))
            elif path.name == name.name:
                ranked.append((2, path))
            elif path.suffix == name.suffix and identity.size / 2 <= status.st_size <= identity.size * 2:
                ranked.append((3 + (path.parent != name.parent), path))
        yield from self._identified(path for _, path in sorted(ranked))

    def _identified(self, paths: Iterator[Path]) -> Iterator[tuple[Path, Identity]]:
        for number, path in enumerate(paths):
            if number == COMPARED:
                self.is_cut = True
                return
            identity = identity_of(path)
            if identity is not None:
                yield path, identity

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The regular files below the root but the old path itself; the folder it was in comes first."""
        near, root = self._old.absolute.parent, self._old.root
        looked = 0
        for folder, names in self._folders(near, root):
            for name in names:
                looked += 1
                if looked > LOOKED_AT:
                    self.is_cut = True
                    return
                path = folder / name
                try:
                    status = path.lstat()
                except OSError:
                    continue
                if path != self._old.absolute and stat.S_ISREG(status.st_mode):
                    yield path, status

    def _folders(self, near: Path, root: Path) -> Iterator[tuple[Path, list[str]]]:
        """The folder that it was in, then all others; outside of a repository only the first."""
        for place, _, names in os.walk(near):
            yield Path(place), sorted(names)
            break
        if self._old.key.startswith("/"):
            return
        for place, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _TOOLS)
            if Path(place) != near:
                yield Path(place), sorted(names)


def is_same_file(seen: Identity, now: Identity) -> bool:
    """Whether device, inode and time of change agree; true where another device says nothing of the inode."""
    if seen.device != now.device:
        return True
    return (seen.inode, seen.modified) == (now.inode, now.modified)
