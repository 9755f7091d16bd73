"""The files of notes about files: which there are, what each is about, and where that was seen."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.bindings import Place, Sighting, bound_path, is_nameable, load_sightings, place_of_file

if TYPE_CHECKING:
    from engine.store.files import Files

FOLDER = "knowledge/files"
_SLUG_BYTES = 120


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A file of notes: its path, the file that it is about as notes name it, and that file's fingerprint when
    the notes were bound to it last.
    """

    notes: str
    key: str
    fingerprint: str
    data: bytes

    def seen(self, sightings: dict[str, Sighting]) -> Sighting | None:
        """The sighting of the file that the notes are about; one of another path is of another file."""
        seen = sightings.get(self.notes)
        return seen if seen is not None and seen.key == self.key else None


class NoteRecords:
    """The files of notes of one workspace; one that has not changed is read once."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._workspace = files.workspace
        self._read: dict[str, tuple[tuple[int, int, int], NoteRecord]] = {}

    def all(self) -> list[NoteRecord]:
        """The files of notes by name, without those that cannot be read or name no path."""
        found: list[NoteRecord] = []
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

    def of(self, place: Place, sightings: dict[str, Sighting]) -> NoteRecord | None:
        """The notes of a path; not those of a file of the same name in another repository."""
        for record in self.all():
            if record.key == place.key:
                seen = record.seen(sightings)
                if seen is None or seen.absolute == str(place.absolute) or not Path(seen.root).is_dir():
                    return record
        return None

    def place(self, path: str | Path) -> Place | None:
        """The file that a path means, absolute, relative to the workspace, or as notes name it."""
        text = str(path)
        if not is_nameable(text):
            return None
        if text.startswith("/"):
            return place_of_file(self._workspace, Path(text))
        inside = self._workspace.root / text
        if inside.is_file():
            return place_of_file(self._workspace, inside)
        record = next((each for each in self.all() if each.key == text), None)
        if record is not None:
            absolute = self.absolute(record, load_sightings(self._files))
            return Place(text, absolute, self.root(record))
        return Place(text, inside, self._workspace.root)

    def absolute(self, record: NoteRecord, sightings: dict[str, Sighting]) -> Path:
        """Where a noted file is, or was when it was seen last."""
        seen = record.seen(sightings)
        if seen is not None:
            return Path(seen.absolute)
        return Path(record.key) if record.key.startswith("/") else self._workspace.root / record.key

    def root(self, record: NoteRecord) -> Path:
        """The repository or folder that a noted file is looked for in."""
        seen = record.seen(load_sightings(self._files))
        if seen is not None:
            return Path(seen.root)
        return Path(record.key).parent if record.key.startswith("/") else self._workspace.root

    def free_name(self, key: str) -> str:
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

    def _load(self, notes: str) -> NoteRecord | None:
        try:
            status = (self._workspace.root / notes).stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            known = self._read.get(notes)
            if known is not None and known[0] == stamp:
                return known[1]
            data = self._files.read(notes)
        except (AutopoiesisError, OSError):
            return None
        record = NoteRecord(notes, *bound_path(data), data)
        self._read[notes] = (stamp, record)
        return record
