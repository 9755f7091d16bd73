"""Notes about files: found with their file wherever it is moved, and never with another (design 3.7).

A note stands in ``knowledge/files/<slug of the path>.md``. The path is the key; the file's content and its
``st_dev:st_ino`` decide what became of a file that is no longer there:

- It is recognised without a question when exactly one file has its very content, no other notes, and the
  same inode and time of change (or nothing is known of the inode, as on another machine).
- Everything less is a question for the person, and until it is answered the notes belong to neither: the
  same inode with other content (inodes are used again at once), the same content under another inode or
  twice (copies), content that is only alike, and a path at which another file stands while the old one lies
  beside it.
- A file at its own path is itself, whatever its inode and content: editors, ``git restore`` and checkouts
  change both.

A file that is gone is looked for in its repository, or in its own folder where there is none: at most
20,000 names and 64 contents (``engine.knowledge.whereabouts``), hidden folders and those of tools left out.
When that was not enough to see everything, nothing is certain. The names of the files of notes stay when a
file is renamed, so that edits that wait in a journal still find them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, PathRefused, ReadOnly, WriteFailed
from engine.knowledge.apply import Applied, apply
from engine.knowledge.bindings import (
    Identity,
    Place,
    Sighting,
    identity_of,
    rebound,
)
from engine.knowledge.category_files import FACTS, Entry, entries, line_for, note_line
from engine.knowledge.edit import Edit
from engine.knowledge.item import Item, Origin, item_id
from engine.knowledge.note_records import NoteRecord, NoteRecords
from engine.knowledge.whereabouts import Candidate, Whereabouts
from engine.store.paths import shown
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.store.files import Files

BY_HAND = "by hand"
"""The origin of notes that a person adds."""


@dataclass(frozen=True, slots=True)
class FileNotes:
    """The notes of one file."""

    path: str
    notes: str  # where they stand, workspace-relative
    entries: tuple[Entry, ...]
    is_here: bool = True  # whether the file is on this machine, at that path
    renamed_from: str = ""  # the path that they had until now; empty if it is the same


@dataclass(frozen=True, slots=True)
class Rebinding:
    """A question to the person: which file do these notes belong to now?"""

    notes: str  # where they stand, workspace-relative
    path: str  # the path that they have
    why: str  # why it is unclear, one clause
    candidates: tuple[Candidate, ...]  # files that may be it, the likeliest first; may be none


class NoteFiles:
    """The notes of files of one workspace.

    ``zone`` is the time zone whose days count.
    """

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
        """All notes by path, as they are: nothing is looked for and nothing is bound anew."""
        found = [
            _notes(record, is_here=self._records.place(record).absolute.is_file())
            for record in self._records.all()
        ]
        return tuple(sorted(found, key=lambda notes: (notes.path, notes.notes)))

    def of(self, path: str | Path) -> FileNotes | None:
        """The notes of a file; ``None`` when it has none, or when it is not certain that they are its own.

        A rename is followed. Notes of a path at which there is no file are given with ``is_here`` off.

        ``path`` is absolute, relative to the workspace, or as notes name it.

        Raises:
            WriteFailed, DocumentError: A rename could not be written down.
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
            if seen is not None and self._whereabouts.originals(seen, place, now):
                return None
            if seen is None or seen.identity != now:
                self._see(record.notes, record.key, place, now)
            return _notes(record, is_here=True)
        target = self._whereabouts.certain(record, place)
        if target is None:
            return _notes(record, is_here=False)
        return self._bind(record, *target)

    def questions(self) -> tuple[Rebinding, ...]:
        """The notes whose file is gone, or may be another, by path; certain renames are followed first."""
        found = (self._question(record) for record in self._records.all())
        questions = (question for question in found if question is not None)
        return tuple(sorted(questions, key=lambda question: (question.path, question.notes)))

    def question(self, path: str | Path) -> Rebinding | None:
        """The question that keeps notes from a file or from what may have become of it."""
        place = self._records.find(path)
        keys = {place.key, str(place.absolute)} if place is not None else {str(path)}
        for question in self.questions():
            others = {name for each in question.candidates for name in (each.path, each.absolute)}
            if question.path in keys or keys & others:
                return question
        return None

    def edit_for(self, item: Item, origin: Origin) -> Edit:
        """The edit that writes down a harvested note: with its file, or among the facts if that is gone."""
        identity = item_id(item, origin.name)
        target = self._target(item.path)
        if target is None:
            line = line_for(item, origin)
            return Edit(identity, "files", "append", FACTS.path, "", line, FACTS.title)
        notes, key = target
        return Edit(identity, "files", "note", notes, "", note_line(item.text, origin), f"# {key}")

    def add(self, path: str | Path, text: str) -> Applied:
        """Writes down a note of the person.

        Raises:
            AutopoiesisError: There is no such file and no notes of it, or the notes may be another file's.
            WriteFailed, ReadOnly, DocumentError: As ``engine.knowledge.apply.apply``.
        """
        if not text.strip():
            raise AutopoiesisError(
                "the note is empty", where=shown(str(path)), hint="say what is to be noted"
            )
        target = self._target(str(path))
        if target is None:
            raise AutopoiesisError(
                "there is no such file, or its notes may be another's",
                where=shown(str(path)),
                hint="name a file that exists; autopoiesis notes lists what is unclear",
            )
        notes, key = target
        origin = Origin(BY_HAND, local_day(self._clock(), self._zone()).isoformat())
        item = Item("files", text, key, "person")
        line = note_line(text, origin)
        return apply(self._files, Edit(item_id(item, BY_HAND), "files", "note", notes, "", line, f"# {key}"))

    def rebind(self, old: str, new: str | Path) -> FileNotes:
        """Binds notes to the file that the person says is theirs.

        ``old`` is the path that the notes have, or where they stand.

        Raises:
            AutopoiesisError: There are no such notes, no such file, or it has notes of its own.
            WriteFailed, ReadOnly, DocumentError: The notes could not be written.
        """
        record = next((each for each in self._records.all() if old in (each.key, each.notes)), None)
        if record is None:
            raise AutopoiesisError("has no notes", where=shown(old), hint="see: autopoiesis notes")
        place = self._records.find(new)
        identity = identity_of(place.absolute) if place is not None else None
        if place is None or identity is None:
            raise AutopoiesisError("is no file", where=shown(str(new)), hint="name a file that exists")
        other = self._records.of(place)
        if other is not None and other.notes != record.notes:
            raise AutopoiesisError(
                f"has notes of its own in {other.notes}",
                where=place.key,
                hint="put them into one file by hand",
            )
        return self._bind(record, place, identity)

    def _target(self, path: str) -> tuple[str, str] | None:
        """Where a note of a file belongs: the file of notes and the key; ``None`` where that is unclear."""
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
            self._see(name, place.key, place, now)
        return name, place.key

    def _renamed_to(self, place: Place, now: Identity) -> FileNotes | None:
        """The notes of a file without any: those of a path that is gone, if they are certainly its own."""
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
            return None  # never seen on this machine: nothing says that it is gone
        place = self._records.place(record)
        now = identity_of(place.absolute)
        if now is not None:
            moved = self._whereabouts.originals(seen, place, now)
            why = "another file may stand at its path"
            return Rebinding(record.notes, record.key, why, tuple(moved)) if moved else None
        target = self._whereabouts.certain(record, place)
        if target is not None:
            self._bind(record, *target)
            return None
        candidates = tuple(self._whereabouts.candidates(seen, place))
        return Rebinding(record.notes, record.key, "the file is gone", candidates)

    def _bind(self, record: NoteRecord, place: Place, identity: Identity) -> FileNotes:
        self._files.update(
            record.notes,
            lambda data: None if data is None else rebound(data, place.key, identity.fingerprint),
        )
        bound = next((each for each in self._records.all() if each.notes == record.notes), record)
        self._see(bound.notes, bound.key, place, identity)
        return _notes(bound, is_here=True, renamed_from=record.key)

    def _see(self, notes: str, key: str, place: Place, now: Identity) -> None:
        """Remembers how a file was seen; if that cannot be written, a rename is only less certain later."""
        day = self._clock().astimezone(UTC).date().isoformat()
        sighting = Sighting(key, str(place.absolute), str(place.root), now, day)
        with contextlib.suppress(ReadOnly, WriteFailed, PathRefused):
            self._records.see(notes, sighting)


def _notes(record: NoteRecord, *, is_here: bool, renamed_from: str = "") -> FileNotes:
    return FileNotes(
        record.key,
        record.notes,
        entries(record.data, record.notes),
        is_here=is_here,
        renamed_from=renamed_from,
    )
