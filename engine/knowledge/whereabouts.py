"""What became of a file that has notes and is gone: which file certainly is it, and which may be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.knowledge.bindings import (
    DISTINCT_BYTES,
    Identity,
    Place,
    Sighting,
    identity_of,
    in_common,
    place_of_file,
    size_of,
)

if TYPE_CHECKING:
    from engine.knowledge.note_records import NoteRecord, NoteRecords
    from engine.store.paths import Workspace

LOOKED_AT = 20_000
"""Names that a search for a renamed file looks at."""
COMPARED = 64
"""Contents that it reads."""

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "scratch"})

ALIKE = 0.5
"""Share of lines in common from which a content is a candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be the one that is gone."""

    path: str  # as notes would name it
    absolute: str
    why: str  # what speaks for it, one clause


class Whereabouts:
    """Looks for the files that the notes of a workspace are about."""

    def __init__(self, workspace: Workspace, records: NoteRecords) -> None:
        self._workspace = workspace
        self._records = records

    def certain(self, record: NoteRecord, old: Place) -> tuple[Place, Identity] | None:
        """The one file that a file that is gone certainly is."""
        seen, fingerprint = record.seen, record.content
        if size_of(fingerprint) < DISTINCT_BYTES:
            return None
        search = Search(old)
        same = [
            (path, identity)
            for path, identity in search.of_size(size_of(fingerprint))
            if identity.fingerprint == fingerprint
        ]
        if len(same) != 1 or search.is_cut:
            return None
        path, identity = same[0]
        if seen is not None and not is_same_file(seen.identity, identity):
            return None
        place = place_of_file(self._workspace, path)
        return None if place is None or self._records.of(place) is not None else (place, identity)

    def old_place(self, record: NoteRecord, near: Place) -> Place | None:
        """Where a noted file was, seen from a file that may be it; ``None`` if that is not a neighbour."""
        place = self._records.place(record)
        if record.seen is not None:
            return place if place.root == near.root else None
        if record.key.startswith("/"):
            return replace(place, root=near.root) if near.key.startswith("/") else None
        if near.root == self._workspace.root:
            return place
        name, _, inside = record.key.partition("/")
        return Place(record.key, near.root / inside, near.root) if name == near.root.name else None

    def originals(self, seen: Sighting, place: Place, now: Identity) -> list[Candidate]:
        """Files with the content that a path held before another file was put there."""
        then = seen.identity
        if now.fingerprint == then.fingerprint or (now.device, now.inode) == (then.device, then.inode):
            return []
        return [
            Candidate(
                found.key, str(found.absolute), "it is the file that was noted; another one has its path"
            )
            for path, identity in Search(place).of_size(then.size)
            if identity.fingerprint == then.fingerprint
            and is_same_file(then, identity)
            and (found := place_of_file(self._workspace, path)) is not None
        ]

    def candidates(self, seen: Sighting, place: Place) -> Iterator[Candidate]:
        """Files that may be one that is gone, the likeliest first."""
        found: list[tuple[float, Candidate]] = []
        for path, identity in Search(place).like(place.absolute, seen.identity):
            target = place_of_file(self._workspace, path)
            if target is None or self._records.of(target) is not None:
                continue
            common = in_common(seen.identity, identity)
            inode = (identity.device, identity.inode) == (seen.identity.device, seen.identity.inode)
            if identity.fingerprint == seen.identity.fingerprint:
                weight, why = 3.0 + inode, "the same content" + ("" if inode else ", perhaps a copy")
            elif common >= ALIKE:
                weight, why = 1.0 + common, f"{common:.0%} of its lines in common"
            elif inode:
                weight, why = 0.5, "the same inode, but other content"
            elif path.name == place.absolute.name:
                weight, why = 0.2, "the same name, but other content"
            else:
                continue
            found.append((-weight, Candidate(target.key, str(target.absolute), why)))
        yield from (candidate for _, candidate in sorted(found, key=lambda each: (each[0], each[1].path)))


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
