"""Notes about files: found with their file wherever it is moved, and never with another (design 3.7).

A note stands in ``knowledge/files/<slug of the path>.md``. The path is the key; the file's content and its
``st_dev:st_ino`` decide what became of a file that is no longer there:

- It is known again without a question when exactly one file has its very content, no other notes, and the
  same inode and time of change (or nothing is known of the inode, as on another machine).
- Everything less is a question for the person, and until it is answered the notes belong to neither: the
  same inode with other content (inodes are used again at once), the same content under another inode or
  twice (copies), content that is only alike, and a path at which another file stands while the old one lies
  beside it.
- A file at its own path is itself, whatever its inode and content: editors, ``git restore`` and checkouts
  change both.

A file that is gone is looked for in its repository, or in its own folder where there is none: at most
20,000 names and 64 contents (``engine.knowledge.renames``), hidden folders and those of tools left out. When
that was not enough to see everything, nothing is certain. The names of the files of notes stay when a file is
renamed, so that edits that wait in a journal still find them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, PathRefused, ReadOnly, WriteFailed
from engine.knowledge.apply import Applied, apply
from engine.knowledge.bindings import (
    DISTINCT_BYTES,
    Identity,
    Place,
    Sighting,
    bound_path,
    identity_of,
    in_common,
    is_nameable,
    load_sightings,
    place_of_file,
    rebound,
    save_sighting,
    size_of,
)
from engine.knowledge.category_files import FACTS, Entry, entries, line_for, note_line
from engine.knowledge.edit import Edit
from engine.knowledge.item import Item, Origin, item_id
from engine.knowledge.renames import Search, is_same_file
from engine.store.paths import shown
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.store.files import Files

FOLDER = "knowledge/files"
BY_HAND = "by hand"
"""Where notes come from that a person adds."""

ALIKE = 0.5
"""Share of lines in common from which a content is a candidate."""

_SLUG_BYTES = 120


@dataclass(frozen=True, slots=True)
class FileNotes:
    """The notes of one file.

    Attributes:
        path: The file as the notes name it.
        notes: Where they stand, workspace-relative.
        entries: The notes.
        is_here: Whether the file is on this machine, at that path.
        renamed_from: The path that they had until now; empty where it is the same.
    """

    path: str
    notes: str
    entries: tuple[Entry, ...]
    is_here: bool = True
    renamed_from: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be the one that is gone.

    Attributes:
        path: As notes would name it.
        absolute: Where it is.
        why: What speaks for it, one clause.
    """

    path: str
    absolute: str
    why: str


@dataclass(frozen=True, slots=True)
class Rebinding:
    """A question to the person: which file do these notes belong to now?

    Attributes:
        notes: Where they stand, workspace-relative.
        path: The path that they have.
        why: Why that is not clear, one clause.
        candidates: The files that may be it, the likeliest first; may be none.
    """

    notes: str
    path: str
    why: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class _Record:
    notes: str
    key: str
    fingerprint: str
    data: bytes


class NoteFiles:
    """The notes of files of one workspace.

    Args:
        files: Its write path.
        clock: Gives the time, with its zone.
        zone: The time zone whose days count.
    """

    def __init__(
        self,
        files: Files,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        zone: Callable[[], str] = lambda: "",
    ) -> None:
        self._files = files
        self._workspace = files.workspace
        self._clock = clock
        self._zone = zone
        self._read: dict[str, tuple[tuple[int, int, int], _Record]] = {}

    def all(self) -> tuple[FileNotes, ...]:
        """All notes by path, as they are: nothing is looked for and nothing is bound anew."""
        sightings = load_sightings(self._files)
        found = [
            _notes(record, is_here=self._absolute(record, sightings).is_file()) for record in self._records()
        ]
        return tuple(sorted(found, key=lambda notes: (notes.path, notes.notes)))

    def of(self, path: str | Path) -> FileNotes | None:
        """The notes of a file; ``None`` when it has none, or when it is not certain that they are its own.

        A rename is followed. Notes of a path at which there is no file are given with ``is_here`` off.

        Args:
            path: Absolute, relative to the workspace, or as notes name it.

        Raises:
            WriteFailed, DocumentError: A rename could not be written down.
        """
        place = self._place(path)
        if place is None:
            return None
        sightings = load_sightings(self._files)
        record = self._record(place, sightings)
        now = identity_of(place.absolute)
        if record is None:
            return None if now is None else self._renamed_to(place, now, sightings)
        if now is not None:
            seen = _seen(record, sightings)
            if seen is not None and self._originals(record, seen, place, now):
                return None
            if seen is None or seen.identity != now:
                self._see(record.notes, record.key, place, now)
            return _notes(record, is_here=True)
        target = self._certain(record, place, sightings)
        if target is None:
            return _notes(record, is_here=False)
        return self._bind(record, *target)

    def questions(self) -> tuple[Rebinding, ...]:
        """The notes whose file is gone, or may be another, by path; certain renames are followed first."""
        found: list[Rebinding] = []
        for record in self._records():
            sightings = load_sightings(self._files)
            question = self._question(record, sightings)
            if question is not None:
                found.append(question)
        return tuple(sorted(found, key=lambda question: (question.path, question.notes)))

    def question(self, path: str | Path) -> Rebinding | None:
        """The question that keeps notes from a file or from what may have become of it."""
        place = self._place(path)
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
                "the note is empty", where=shown(str(path)), cure="say what is to be noted"
            )
        target = self._target(str(path))
        if target is None:
            raise AutopoiesisError(
                "there is no such file, or its notes may be another's",
                where=shown(str(path)),
                cure="name a file that exists; autopoiesis notes lists what is unclear",
            )
        notes, key = target
        origin = Origin(BY_HAND, local_day(self._clock(), self._zone()).isoformat())
        item = Item("files", text, key, "person")
        line = note_line(text, origin)
        return apply(self._files, Edit(item_id(item, BY_HAND), "files", "note", notes, "", line, f"# {key}"))

    def rebind(self, old: str, new: str | Path) -> FileNotes:
        """Binds notes to the file that the person says is theirs.

        Args:
            old: The path that the notes have, or where they stand.
            new: The file.

        Raises:
            AutopoiesisError: There are no such notes, no such file, or it has notes of its own.
            WriteFailed, ReadOnly, DocumentError: The notes could not be written.
        """
        record = next((each for each in self._records() if old in (each.key, each.notes)), None)
        if record is None:
            raise AutopoiesisError("has no notes", where=shown(old), cure="see: autopoiesis notes")
        place = self._place(new)
        identity = identity_of(place.absolute) if place is not None else None
        if place is None or identity is None:
            raise AutopoiesisError("is no file", where=shown(str(new)), cure="name a file that exists")
        other = self._record(place, load_sightings(self._files))
        if other is not None and other.notes != record.notes:
            raise AutopoiesisError(
                f"has notes of its own in {other.notes}",
                where=place.key,
                cure="put them into one file by hand",
            )
        return self._bind(record, place, identity)

    def _target(self, path: str) -> tuple[str, str] | None:
        """Where a note of a file belongs: the file of notes and the key; ``None`` where that is unclear."""
        found = self.of(path)
        if found is not None and (found.is_here or not self._is_known(found)):
            return found.notes, found.path
        place = self._place(path)
        if place is None or found is not None or not place.absolute.is_file():
            return None
        if any(record.key == place.key for record in self._records()):
            return None
        now = identity_of(place.absolute)
        name = self._free_name(place.key)
        if now is not None:
            self._see(name, place.key, place, now)
        return name, place.key

    def _is_known(self, notes: FileNotes) -> bool:
        """Whether the file was here once, so that it is gone now and not only elsewhere."""
        return notes.notes in load_sightings(self._files)

    def _place(self, path: str | Path) -> Place | None:
        text = str(path)
        if not is_nameable(text):
            return None
        if text.startswith("/"):
            return place_of_file(self._workspace, Path(text))
        inside = self._workspace.root / text
        if inside.is_file():
            return place_of_file(self._workspace, inside)
        record = next((each for each in self._records() if each.key == text), None)
        if record is not None:
            absolute = self._absolute(record, load_sightings(self._files))
            return Place(text, absolute, self._root(record))
        return Place(text, inside, self._workspace.root)

    def _record(self, place: Place, sightings: dict[str, Sighting]) -> _Record | None:
        """The notes of a path; not those of a file of the same name in another repository."""
        for record in self._records():
            if record.key == place.key:
                seen = _seen(record, sightings)
                if seen is None or seen.absolute == str(place.absolute) or not Path(seen.root).is_dir():
                    return record
        return None

    def _absolute(self, record: _Record, sightings: dict[str, Sighting]) -> Path:
        seen = _seen(record, sightings)
        if seen is not None:
            return Path(seen.absolute)
        return Path(record.key) if record.key.startswith("/") else self._workspace.root / record.key

    def _root(self, record: _Record) -> Path:
        seen = _seen(record, load_sightings(self._files))
        if seen is not None:
            return Path(seen.root)
        return Path(record.key).parent if record.key.startswith("/") else self._workspace.root

    def _renamed_to(self, place: Place, now: Identity, sightings: dict[str, Sighting]) -> FileNotes | None:
        """The notes of a file without any: those of a path that is gone, if they are certainly its own."""
        for record in self._records():
            seen = _seen(record, sightings)
            if now.fingerprint != (seen.identity.fingerprint if seen else record.fingerprint):
                continue
            old = self._old_place(record, seen, place)
            if old is None or os.path.lexists(old.absolute):
                continue
            target = self._certain(record, old, sightings)
            if target is not None and target[0].absolute == place.absolute:
                return self._bind(record, *target)
        return None

    def _old_place(self, record: _Record, seen: Sighting | None, near: Place) -> Place | None:
        """Where a noted file was, seen from a file that may be it; ``None`` where that is no neighbour."""
        if seen is not None:
            root = Path(seen.root)
            return Place(record.key, Path(seen.absolute), root) if root == near.root else None
        if record.key.startswith("/"):
            return Place(record.key, Path(record.key), near.root) if near.key.startswith("/") else None
        if near.root == self._workspace.root:
            return Place(record.key, near.root / record.key, near.root)
        name, _, inside = record.key.partition("/")
        return Place(record.key, near.root / inside, near.root) if name == near.root.name else None

    def _certain(
        self, record: _Record, old: Place, sightings: dict[str, Sighting]
    ) -> tuple[Place, Identity] | None:
        """The one file that a file that is gone certainly is."""
        seen = _seen(record, sightings)
        fingerprint = seen.identity.fingerprint if seen else record.fingerprint
        if size_of(fingerprint) < DISTINCT_BYTES:
            return None
        search = Search(old)
        same = [
            (path, identity)
            for path, identity in search.of_size(size_of(fingerprint))
            if identity.fingerprint == fingerprint
        ]
        if (
            len(same) != 1
            or search.is_cut
            or (seen is not None and not is_same_file(seen.identity, same[0][1]))
        ):
            return None
        place = place_of_file(self._workspace, same[0][0])
        if place is None or self._record(place, sightings) is not None:
            return None
        return place, same[0][1]

    def _originals(self, record: _Record, seen: Sighting, place: Place, now: Identity) -> list[Candidate]:
        """Files that are what a path held before another file was put there."""
        is_another = now.fingerprint != seen.identity.fingerprint and (now.device, now.inode) != (
            seen.identity.device,
            seen.identity.inode,
        )
        if not is_another:
            return []
        return [
            Candidate(
                found.key, str(found.absolute), "it is the file that was noted; another one has its path"
            )
            for path, identity in Search(place).of_size(seen.identity.size)
            if identity.fingerprint == seen.identity.fingerprint
            and is_same_file(seen.identity, identity)
            and (found := place_of_file(self._workspace, path)) is not None
        ]

    def _question(self, record: _Record, sightings: dict[str, Sighting]) -> Rebinding | None:
        seen = _seen(record, sightings)
        if seen is None:
            return None  # never seen on this machine: nothing says that it is gone
        place = Place(record.key, Path(seen.absolute), Path(seen.root))
        now = identity_of(place.absolute)
        if now is not None:
            moved = self._originals(record, seen, place, now)
            why = "another file may stand at its path"
            return Rebinding(record.notes, record.key, why, tuple(moved)) if moved else None
        target = self._certain(record, place, sightings)
        if target is not None:
            self._bind(record, *target)
            return None
        candidates = tuple(self._candidates(record, seen, place, sightings))
        return Rebinding(record.notes, record.key, "the file is gone", candidates)

    def _candidates(
        self, record: _Record, seen: Sighting, place: Place, sightings: dict[str, Sighting]
    ) -> Iterator[Candidate]:
        found: list[tuple[float, Candidate]] = []
        for path, identity in Search(place).like(place.absolute, seen.identity):
            target = place_of_file(self._workspace, path)
            if target is None or self._record(target, sightings) is not None:
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

    def _bind(self, record: _Record, place: Place, identity: Identity) -> FileNotes:
        self._files.update(
            record.notes,
            lambda data: None if data is None else rebound(data, place.key, identity.fingerprint),
        )
        bound = next((each for each in self._records() if each.notes == record.notes), record)
        self._see(bound.notes, bound.key, place, identity)
        return _notes(bound, is_here=True, renamed_from=record.key)

    def _see(self, notes: str, key: str, place: Place, now: Identity) -> None:
        """Remembers how a file was seen; where nothing can be written, it is only less certain later."""
        day = self._clock().astimezone(UTC).date().isoformat()
        sighting = Sighting(key, str(place.absolute), str(place.root), now, day)
        with contextlib.suppress(ReadOnly, WriteFailed, PathRefused):
            save_sighting(self._files, notes, sighting)

    def _records(self) -> list[_Record]:
        """The files of notes by name; one that cannot be read, or names no path, is none."""
        found: list[_Record] = []
        if not self._workspace.holds(FOLDER):
            return found
        try:
            with os.scandir(self._workspace.root / FOLDER) as listing:
                names = sorted(entry.name for entry in listing if entry.name.endswith(".md"))
        except OSError:
            return found
        for name in names:
            record = self._load(f"{FOLDER}/{name}")
            if record is not None and record.key:
                found.append(record)
        return found

    def _load(self, notes: str) -> _Record | None:
        try:
            status = (self._workspace.root / notes).stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            known = self._read.get(notes)
            if known is not None and known[0] == stamp:
                return known[1]
            data = self._files.read(notes)
        except (AutopoiesisError, OSError):
            return None
        record = _Record(notes, *bound_path(data), data)
        self._read[notes] = (stamp, record)
        return record

    def _free_name(self, key: str) -> str:
        """The file for the notes of a path that has none."""
        # A hyphen is doubled, so that ``a/b-c`` and ``a-b/c`` never share a name; what a name cannot say that
        # way, a checksum says.
        plain = key.replace("-", "--").replace("/", "-")
        slug = re.sub(r"[^\w.-]+", "-", plain).strip("-.") or "file"
        cut = slug.encode()[-_SLUG_BYTES:].decode("utf-8", "ignore").strip("-.")
        name = f"{FOLDER}/{slug}.md"
        is_said = slug == plain == cut and not re.search("--|/-|-/", key)
        if is_said and not os.path.lexists(self._workspace.root / name):
            return name
        short = sha256(key.encode("utf-8", "replace")).hexdigest()[:8]
        return f"{FOLDER}/{cut}-{short}.md"


def _seen(record: _Record, sightings: dict[str, Sighting]) -> Sighting | None:
    """The sighting of a record's file; one of another path is of another file."""
    seen = sightings.get(record.notes)
    return seen if seen is not None and seen.key == record.key else None


def _notes(record: _Record, *, is_here: bool, renamed_from: str = "") -> FileNotes:
    return FileNotes(
        record.key,
        record.notes,
        entries(record.data, record.notes),
        is_here=is_here,
        renamed_from=renamed_from,
    )
