"""Notes on files, which follow their file when it is moved and never attach to another one (design 3.7).

Notes are kept in ``knowledge/files/<slug of the path>.md``. The path is the key. If the file no longer
exists, its content and ``st_dev:st_ino`` are used to find it again:

- A rename is certain if exactly one file has the same content, no notes of its own, and the same inode and
  mtime (or if the inode is unknown, as on another machine).
- Anything less is a question for the person, and until it is answered the notes belong to no file: nothing
  with the same content, the same content with another inode or in several copies, or another file at the path
  while the old one exists elsewhere.
- A file at its own path is the same file, whatever its inode and content: editors, ``git restore`` and
  checkouts change both.

A missing file is searched for in its repository, or else in its own folder: at most 20,000 names and 64
contents, without hidden folders and tool folders. If the search hits these limits, nothing is certain. Notes
files keep their name when the file is renamed, so that journaled edits still find them.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, PathRefused, ReadOnly, WriteFailed
from engine.knowledge.apply import Applied, apply
from engine.knowledge.bindings import (
    DISTINCT_BYTES,
    Identity,
    NoteRecord,
    NoteRecords,
    Place,
    Sighting,
    identity_of,
    place_of_file,
    rebound,
    size_of,
)
from engine.knowledge.category_files import FACTS, Entry, entries, line_for, note_line
from engine.knowledge.item import Edit, Item, Origin, item_id
from engine.store.paths import shown
from engine.store.spelling import composed
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.paths import Workspace

BY_HAND = "by hand"
"""The origin of notes added by a person."""


@dataclass(frozen=True, slots=True)
class FileNotes:
    """The notes of one file."""

    path: str
    notes: str  # the notes file, workspace-relative
    entries: tuple[Entry, ...]
    is_here: bool = True  # whether the file is on this machine, at that path
    renamed_from: str = ""  # the previous path if the file was just renamed


@dataclass(frozen=True, slots=True)
class Rebinding:
    """A question for the person: which file do these notes belong to now?"""

    notes: str  # the notes file, workspace-relative
    path: str  # the path in the notes
    why: str  # why it is unclear, one clause


class NoteFiles:
    """The file notes of one workspace; ``zone`` is the time zone that determines the day of a note."""

    def __init__(
        self,
        files: Files,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        zone: Callable[[], str] = lambda: "",
    ) -> None:
        self._files = files
        self._clock = clock
        self._zone = zone
        self._records = NoteRecords(files)
        self._whereabouts = Whereabouts(files.workspace, self._records)

    def all(self) -> tuple[FileNotes, ...]:
        """All notes by path, without searching for or rebinding anything."""
        found = [
            _notes(record, is_here=self._records.place(record).absolute.is_file())
            for record in self._records.all()
        ]
        return tuple(sorted(found, key=lambda notes: (notes.path, notes.notes)))

    def of(self, path: str | Path) -> FileNotes | None:
        """The notes of a file; ``None`` if it has none, or if it is uncertain whether they are its own.

        Certain renames are followed. If there is no file at the path, ``is_here`` is false. ``path`` is
        absolute, relative to the workspace, or as in the notes.

        Raises:
            WriteFailed, DocumentError: A rename could not be recorded.
        """
        place = self._records.find(path)
        if place is None:
            return None
        record = self._records.of(place)
        now = identity_of(place.absolute)
        if record is None:
            return None if now is None else self._renamed_to(place, now)
        if now is not None:
            seen = record.seen
            if seen is not None and self._whereabouts.is_elsewhere(seen, place, now):
                return None
            if seen is None or seen.identity != now:
                self._remember(record.notes, record.key, place, now)
            return _notes(record, is_here=True)
        target = self._whereabouts.certain(record, place)
        if target is None:
            return _notes(record, is_here=False)
        return self._bind(record, *target)

    def questions(self) -> tuple[Rebinding, ...]:
        """Notes whose file is missing or uncertain, by path; certain renames are followed first."""
        found = (self._question(record) for record in self._records.all())
        questions = (question for question in found if question is not None)
        return tuple(sorted(questions, key=lambda question: (question.path, question.notes)))

    def question(self, path: str | Path) -> Rebinding | None:
        """The open question about the notes of a path."""
        place = self._records.find(path)
        keys = {place.key, str(place.absolute)} if place is not None else {str(path)}
        return next((question for question in self.questions() if question.path in keys), None)

    def edit_for(self, item: Item, origin: Origin) -> Edit:
        """The edit for a harvested note: in the notes of its file, or in the facts if the file is missing."""
        identity = item_id(item, origin.name)
        target = self._target(item.path)
        if target is None:
            line = line_for(item, origin)
            return Edit(identity, "files", "append", FACTS.path, "", line, FACTS.title)
        notes, key = target
        return Edit(identity, "files", "note", notes, "", note_line(item.text, origin), f"# {key}")

    def add(self, path: str | Path, text: str) -> Applied:
        """Adds a note by the person.

        Raises:
            AutopoiesisError: There is neither such a file nor notes on it, or the notes are uncertain.
            WriteFailed, ReadOnly, DocumentError: As ``engine.knowledge.apply.apply``.
        """
        if not text.strip():
            raise AutopoiesisError(
                "the note is empty", where=shown(str(path)), hint="give the text of the note"
            )
        target = self._target(str(path))
        if target is None:
            raise AutopoiesisError(
                "no such file, or its notes may belong to another file",
                where=shown(str(path)),
                hint="use an existing file; list unclear notes with: autopoiesis notes",
            )
        notes, key = target
        origin = Origin(BY_HAND, local_day(self._clock(), self._zone()).isoformat())
        item = Item("files", text, key, "person")
        line = note_line(text, origin)
        return apply(self._files, Edit(item_id(item, BY_HAND), "files", "note", notes, "", line, f"# {key}"))

    def rebind(self, old: str, new: str | Path) -> FileNotes:
        """Binds notes to the file chosen by the person; ``old`` is the path in the notes, or the notes file.

        Raises:
            AutopoiesisError: There are no such notes or no such file, or the file has its own notes.
            WriteFailed, ReadOnly, DocumentError: The notes could not be written.
        """
        record = next((each for each in self._records.all() if composed(old) in (each.key, each.notes)), None)
        if record is None:
            raise AutopoiesisError("has no notes", where=shown(old), hint="see: autopoiesis notes")
        place = self._records.find(new)
        identity = identity_of(place.absolute) if place is not None else None
        if place is None or identity is None:
            raise AutopoiesisError("no such file", where=shown(str(new)), hint="use an existing file")
        other = self._records.of(place)
        if other is not None and other.notes != record.notes:
            raise AutopoiesisError(
                f"already has notes in {other.notes}",
                where=place.key,
                hint="merge them into one file by hand",
            )
        return self._bind(record, place, identity)

    def _target(self, path: str) -> tuple[str, str] | None:
        """The notes file and key for a note on a file; ``None`` if that is unclear."""
        found = self.of(path)
        if found is not None and (found.is_here or not self._records.was_seen(found.notes)):
            return found.notes, found.path
        place = self._records.find(path)
        if place is None or found is not None or not place.absolute.is_file():
            return None
        if any(record.key == place.key for record in self._records.all()):
            return None
        now = identity_of(place.absolute)
        name = self._records.free_name(place.key)
        if now is not None:
            self._remember(name, place.key, place, now)
        return name, place.key

    def _renamed_to(self, place: Place, now: Identity) -> FileNotes | None:
        """The notes of a missing path that certainly belong to a file without notes."""
        for record in self._records.all():
            if now.fingerprint != record.content:
                continue
            old = self._whereabouts.old_place(record, place)
            if old is None or os.path.lexists(old.absolute):
                continue
            target = self._whereabouts.certain(record, old)
            if target is not None and target[0].absolute == place.absolute:
                return self._bind(record, *target)
        return None

    def _question(self, record: NoteRecord) -> Rebinding | None:
        seen = record.seen
        if seen is None:
            return None  # never seen on this machine, so not known to be missing
        place = self._records.place(record)
        now = identity_of(place.absolute)
        if now is not None:
            why = "another file is at its path"
            is_elsewhere = self._whereabouts.is_elsewhere(seen, place, now)
            return Rebinding(record.notes, record.key, why) if is_elsewhere else None
        target = self._whereabouts.certain(record, place)
        if target is not None:
            self._bind(record, *target)
            return None
        return Rebinding(record.notes, record.key, "the file no longer exists")

    def _bind(self, record: NoteRecord, place: Place, identity: Identity) -> FileNotes:
        self._files.update(
            record.notes,
            lambda data: None if data is None else rebound(data, place.key, identity.fingerprint),
        )
        bound = next((each for each in self._records.all() if each.notes == record.notes), record)
        self._remember(bound.notes, bound.key, place, identity)
        return _notes(bound, is_here=True, renamed_from=record.key)

    def _remember(self, notes: str, key: str, place: Place, now: Identity) -> None:
        """Stores a sighting; if that fails, a later rename is merely less certain."""
        day = self._clock().astimezone(UTC).date().isoformat()
        sighting = Sighting(key, str(place.absolute), str(place.root), now, day)
        with contextlib.suppress(ReadOnly, WriteFailed, PathRefused):
            self._records.remember(notes, sighting)


def _notes(record: NoteRecord, *, is_here: bool, renamed_from: str = "") -> FileNotes:
    return FileNotes(
        record.key,
        record.notes,
        entries(record.data, record.notes),
        is_here=is_here,
        renamed_from=renamed_from,
    )


MAX_NAMES = 20_000
"""Maximum number of names in a search for a renamed file."""
MAX_CONTENTS = 64
"""Maximum number of files read in a search."""

_TOOLS = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "scratch"})


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

    def is_elsewhere(self, seen: Sighting, place: Place, now: Identity) -> bool:
        """Whether a path's file was moved, and another one, such as a stub, took its place."""
        then = seen.identity
        if now.fingerprint == then.fingerprint or (now.device, now.inode) == (then.device, then.inode):
            return False
        return any(
            identity.fingerprint == then.fingerprint and is_same_file(then, identity)
            for _, identity in Search(place).of_size(then.size)
        )


class Search:
    """Searches for a file near its old place; ``is_cut`` says that the search stopped at its limits."""

    def __init__(self, old: Place) -> None:
        self._old = old
        self.is_cut = False

    def of_size(self, size: int) -> Iterator[tuple[Path, Identity]]:
        """The files of a given size."""
        paths = (path for path, status in self._files() if status.st_size == size)
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
