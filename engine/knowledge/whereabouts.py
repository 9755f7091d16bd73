"""Searches for missing files that have notes: certain matches and candidates."""

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

MAX_NAMES = 20_000
"""Maximum number of names in a search for a renamed file."""
MAX_CONTENTS = 64
"""Maximum number of files read in a search."""

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "scratch"})

SIMILAR = 0.5
"""Share of common lines from which a file is a candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be the missing one."""

    path: str  # as in notes
    absolute: str
    why: str  # the evidence, one clause


class Whereabouts:
    """Searches for the files that notes are about."""

    def __init__(self, workspace: Workspace, records: NoteRecords) -> None:
        self._workspace = workspace
        self._records = records

    def certain(self, record: NoteRecord, old: Place) -> tuple[Place, Identity] | None:
        """The file that a missing file certainly has become."""
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
        """The old place of a file with notes, relative to a possible match; ``None`` if they are
        unrelated."""
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
        """The files that a path's file may have become when another one, such as a stub, took its place: with
        its content, or with most of its lines where the path has few of them.
        """
        then = seen.identity
        if now.fingerprint == then.fingerprint or (now.device, now.inode) == (then.device, then.inode):
            return []
        exact = [
            Candidate(found.key, str(found.absolute), "this is the original file; another one is at its path")
            for path, identity in Search(place).of_size(then.size)
            if identity.fingerprint == then.fingerprint
            and is_same_file(then, identity)
            and (found := place_of_file(self._workspace, path)) is not None
        ]
        if exact or not then.sketch or in_common(then, now) >= SIMILAR:
            return exact
        return [candidate for weight, candidate in self._like(seen, place) if weight >= 1.0]

    def candidates(self, seen: Sighting, place: Place) -> Iterator[Candidate]:
        """Possible matches for a missing file, likeliest first."""
        yield from (candidate for _, candidate in self._like(seen, place))

    def _like(self, seen: Sighting, place: Place) -> list[tuple[float, Candidate]]:
        """The candidates with their weights, from 1 on for most of the content, heaviest first."""
        found: list[tuple[float, Candidate]] = []
        for path, identity in Search(place).like(place.absolute, seen.identity):
            target = place_of_file(self._workspace, path)
            if target is None or self._records.of(target) is not None:
                continue
            common = in_common(seen.identity, identity)
            inode = (identity.device, identity.inode) == (seen.identity.device, seen.identity.inode)
            if identity.fingerprint == seen.identity.fingerprint:
                weight, why = 3.0 + inode, "the same content" + ("" if inode else ", perhaps a copy")
            elif common >= SIMILAR:
                weight, why = 1.0 + common, f"{common:.0%} of the lines in common"
            elif inode:
                weight, why = 0.5, "the same inode, but other content"
            elif path.name == place.absolute.name:
                weight, why = 0.2, "the same name, but other content"
            else:
                continue
            found.append((weight, Candidate(target.key, str(target.absolute), why)))
        return sorted(found, key=lambda each: (-each[0], each[1].path))


class Search:
    """Searches for a file near its old place; ``is_cut`` says that the search stopped at its limits."""

    def __init__(self, old: Place) -> None:
        self._old = old
        self.is_cut = False

    def of_size(self, size: int) -> Iterator[tuple[Path, Identity]]:
        """The files of a given size."""
        yield from self._identified(path for path, status in self._files() if status.st_size == size)

    def like(self, name: Path, identity: Identity) -> Iterator[tuple[Path, Identity]]:
        """Files with the same size, inode, name or suffix, in that order."""
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
            if number == MAX_CONTENTS:
                self.is_cut = True
                return
            identity = identity_of(path)
            if identity is not None:
                yield path, identity

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The regular files below the root except the old path itself, starting with its folder."""
        near, root = self._old.absolute.parent, self._old.root
        looked = 0
        for folder, names in self._folders(near, root):
            for name in names:
                looked += 1
                if looked > MAX_NAMES:
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
        """The old folder, then all others; outside a repository only the old folder."""
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
    """True if device, inode and mtime agree, or if the devices differ, so that inodes are not comparable."""
    if seen.device != now.device:
        return True
    return (seen.inode, seen.modified) == (now.inode, now.modified)
