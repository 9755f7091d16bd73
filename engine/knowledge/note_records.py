"""The notes files: which exist, which file each is about, and where that was last seen."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.bindings import Place, Sighting, Sightings, bound_path, is_nameable, place_of_file
from engine.store.conflict_copies import is_used
from engine.store.spelling import composed, on_disk

if TYPE_CHECKING:
    from engine.store.files import Files

FOLDER = "knowledge/files"
_SLUG_BYTES = 120


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A notes file and the file it is about."""

    notes: str  # its path
    key: str  # the path of the file it is about, in composed form
    fingerprint: str  # of that file when the notes were last bound to it
    data: bytes
    seen: Sighting | None = None  # the last sighting of that file

    @property
    def content(self) -> str:
        """The last known fingerprint of the file, here or elsewhere."""
        return self.seen.identity.fingerprint if self.seen is not None else self.fingerprint


class NoteRecords:
    """The notes files of one workspace; unchanged ones are not read again."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._workspace = files.workspace
        self._read: dict[str, tuple[tuple[int, int, int], NoteRecord]] = {}
        self._sightings = Sightings(files)

    def all(self) -> list[NoteRecord]:
        """The notes files by name, without those that are unreadable or have no path."""
        found: list[NoteRecord] = []
        if not self._workspace.holds(FOLDER):
            return found
        try:
            folder = os.fspath(self._workspace.root / FOLDER)
            with os.scandir(folder) as listing:
                names = sorted(
                    entry.name
                    for entry in listing
                    if entry.name.endswith(".md") and is_used(folder, entry.name)
                )
        except OSError:
            return found
        sightings = self._sightings.all()
        for name in names:
            record = self._load(f"{FOLDER}/{name}")
            if record is not None and record.key:
                seen = sightings.get(record.notes)
                is_of_file = seen is not None and composed(seen.key) == record.key
                found.append(replace(record, seen=seen) if is_of_file else record)
        return found

    def of(self, place: Place) -> NoteRecord | None:
        """The notes of a file, but not those of a file with the same key in another repository."""
        for record in self.all():
            seen = record.seen
            if record.key == place.key and (
                seen is None
                or composed(seen.absolute) == composed(str(place.absolute))
                or not Path(seen.root).is_dir()
            ):
                return record
        return None

    def find(self, path: str | Path) -> Place | None:
        """The place of a file, given as an absolute path, relative to the workspace, or as in the notes."""
        text = str(path)
        if not is_nameable(text):
            return None
        inside = on_disk(self._workspace.root / text)  # an absolute path stays what it is
        if text.startswith("/") or inside.is_file():
            return place_of_file(self._workspace, inside)
        record = next((each for each in self.all() if each.key == composed(text)), None)
        return Place(composed(text), inside, self._workspace.root) if record is None else self.place(record)

    def place(self, record: NoteRecord) -> Place:
        """The current or last known place of a file with notes."""
        if record.seen is not None:
            return Place(record.key, on_disk(Path(record.seen.absolute)), Path(record.seen.root))
        absolute, root = on_disk(self._workspace.root / record.key), self._workspace.root
        return Place(record.key, absolute, absolute.parent if record.key.startswith("/") else root)

    def remember(self, notes: str, sighting: Sighting) -> None:
        """Stores the sighting of the file that notes are about. Raises as ``Files.update``."""
        self._sightings.keep(notes, sighting)

    def was_seen(self, notes: str) -> bool:
        """True if the file that notes are about was ever seen on this machine."""
        return notes in self._sightings.all()

    def free_name(self, key: str) -> str:
        """The path of a new notes file."""
        # Hyphens are doubled so that ``a/b-c`` and ``a-b/c`` get different names; a checksum covers the rest.
        plain = key.replace("-", "--").replace("/", "-")
        slug = re.sub(r"[^\w.-]+", "-", plain).strip("-.") or "file"
        cut = slug.encode()[-_SLUG_BYTES:].decode("utf-8", "ignore").strip("-.")
        name = f"{FOLDER}/{slug}.md"
        is_exact = slug == plain == cut and not re.search("--|/-|-/", key)
        if is_exact and not os.path.lexists(self._workspace.root / name):
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
        path, fingerprint = bound_path(data)
        record = NoteRecord(notes, composed(path), fingerprint, data)
        self._read[notes] = (stamp, record)
        return record
