"""Binds notes to files and recognises the files again (design 3.7, robustness I1, I2).

A binding has two halves with different lifetimes:

- **The header of the notes** has the file's path and the fingerprint of its content, which are valid on every
  machine. It is part of the notes, so a copy of the workspace, a branch, a merge or a person who moves the
  notes cannot separate them, and machines that annotate different files never touch the same line. Without a
  valid header, the path in the title counts.
- **The sightings**, in ``scratch/`` and never committed, record what this machine saw last: the file's
  location, fingerprint, device, inode and mtime. These change with every save and mean nothing elsewhere.
  Losing them makes renames less certain but never loses a note.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.store.conflict_copies import is_used
from engine.store.header import locate
from engine.store.spelling import composed, on_disk
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.paths import Workspace

SIGHTINGS = "scratch/file-sightings.json"

DISTINCT_BYTES = 64
"""Size below which content cannot identify a file."""

_WHOLE = 16 * 1024 * 1024
_END = 1024 * 1024
_MAX_DEPTH = 64
_PATH_CHARACTERS = 1024
_HEADER_LINE = re.compile(rb"^(path|fingerprint):[^\n]*?(\r?)$", re.MULTILINE)
_TITLE = re.compile(r"^#[ \t]+(.+?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Identity:
    """Properties that identify a file."""

    fingerprint: str
    """The length and the start of the SHA-256 of the content; above 16 MiB, of its first and last MiB."""
    device: int
    inode: int
    modified: int
    """``st_mtime_ns``: kept by a rename, but different for another file that reuses the inode."""

    @property
    def size(self) -> int:
        return size_of(self.fingerprint)


@dataclass(frozen=True, slots=True)
class Place:
    """A file's name in the notes, and its location on this machine."""

    key: str
    """Relative to the workspace; in another repository, its name and the path in it; otherwise absolute."""
    absolute: Path  # actual or expected location, without symlinks
    root: Path  # the folder within which renames are followed: workspace, repository, or its own folder


@dataclass(frozen=True, slots=True)
class Sighting:
    """A file with notes as last seen on this machine."""

    key: str  # the path in the notes at that time
    absolute: str
    root: str  # as ``Place.root``
    identity: Identity
    day: str  # ISO 8601


def size_of(fingerprint: str) -> int:
    """The length in a fingerprint; -1 if there is none."""
    head = fingerprint.partition("-")[0]
    return int(head) if head.isascii() and head.isdigit() else -1


def identity_of(path: Path) -> Identity | None:
    """The identity of a regular file; ``None`` if it cannot be read. Never blocks."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        data = _content(descriptor, status.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return Identity(
        fingerprint=f"{status.st_size}-{hashlib.sha256(data).hexdigest()[:24]}",
        device=status.st_dev,
        inode=status.st_ino,
        modified=status.st_mtime_ns,
    )


def place_of_file(workspace: Workspace, absolute: Path) -> Place | None:
    """The place of a file; ``None`` if its path does not fit on a line."""
    try:
        real = Path(os.path.realpath(on_disk(absolute)))
    except (OSError, RuntimeError, ValueError):
        return None
    key, root = str(real), real.parent
    if workspace.root in real.parents:
        key, root = real.relative_to(workspace.root).as_posix(), workspace.root
    else:
        repository = _repository(real)
        if repository is not None and repository.name:
            key, root = f"{repository.name}/{real.relative_to(repository).as_posix()}", repository
    key = composed(key)
    return Place(key, real, root) if is_nameable(key) else None


def is_nameable(key: str) -> bool:
    """True if a path can be used in a title and a header: one printable line of reasonable length."""
    parts = key.split("/")
    return key.isprintable() and 0 < len(key) <= _PATH_CHARACTERS and ".." not in parts and key == key.strip()


def bound_path(data: bytes) -> tuple[str, str]:
    """The path and the fingerprint in a notes file; both may be empty."""
    found = locate(data)
    if found.mapping is not None and isinstance(path := found.mapping.get("path"), str) and path.strip():
        fingerprint = found.mapping.get("fingerprint")
        return path.strip(), fingerprint if isinstance(fingerprint, str) else ""
    title = _TITLE.search(data[found.body :].decode("utf-8", "replace").replace("\r\n", "\n"))
    return (title[1] if title else ""), ""


def new_notes(workspace: Workspace, title: str, known: Path | None = None) -> bytes:
    """Header and title of a new notes file; ``known`` is the file's location if the title does not give
    it."""
    key = title.removeprefix("# ").strip()
    absolute = known or on_disk(workspace.root / key)  # an absolute path stays what it is
    identity = identity_of(absolute)
    return f"{_header(key, identity.fingerprint if identity else '')}\n{title}\n".encode()


def rebound(data: bytes, key: str, fingerprint: str) -> bytes:
    """A notes file bound to another path; only path, fingerprint and a title equal to the old path change."""
    old, _ = bound_path(data)
    found = locate(data)
    head, body = data[: found.body], data[found.body :]
    title = f"# {old}".encode()
    lines = body.split(b"\n")
    for at, line in enumerate(lines):
        if line.rstrip() == title:
            lines[at] = f"# {key}".encode() + (b"\r" if line.endswith(b"\r") else b"")
            break
    body = b"\n".join(lines)
    values = {b"path": json.dumps(key, ensure_ascii=False), b"fingerprint": fingerprint or "unknown"}
    newline = found.newline.encode()
    if found.mapping is None:
        return head + _header(key, fingerprint).encode().replace(b"\n", newline) + newline + body
    missing = [name for name in values if name.decode() not in found.mapping]
    added = b"".join(name + b": " + values[name].encode() + newline for name in missing)
    head = head[: found.start] + added + head[found.start :]

    def value(match: re.Match[bytes]) -> bytes:
        return match[1] + b": " + values[match[1]].encode() + match[2]

    return _HEADER_LINE.sub(value, head) + body


class Sightings:
    """The sightings of this machine, by the path of the notes file; empty if they cannot be read."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: tuple[bytes, dict[str, Sighting]] = (b"", {})

    def all(self) -> dict[str, Sighting]:
        """All sightings; the file is parsed again only after a change."""
        try:
            data = self._files.read(SIGHTINGS)
        except (OSError, AutopoiesisError):
            return {}
        if data != self._known[0]:
            self._known = data, _sightings(data)
        return self._known[1]

    def keep(self, notes: str, sighting: Sighting) -> None:
        """Stores a sighting. Raises as ``Files.update``."""

        def change(old: bytes | None) -> bytes:
            kept = _sightings(old or b"{}") | {notes: sighting}
            tree = {name: asdict(kept[name]) for name in sorted(kept)}
            return json.dumps(tree, ensure_ascii=True, indent=1).encode() + b"\n"

        self._files.update(SIGHTINGS, change)


def _sightings(data: bytes) -> dict[str, Sighting]:
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {notes: typed(Sighting, row) for notes, row in json.loads(data).items()}
    return {}


def _header(key: str, fingerprint: str) -> str:
    mark = f"fingerprint: {fingerprint}\n" if fingerprint else "fingerprint: unknown\n"
    return f"---\npath: {json.dumps(key, ensure_ascii=False)}\n{mark}---\n"


def _content(descriptor: int, size: int) -> bytes:
    if size <= _WHOLE:
        parts = []
        while block := os.read(descriptor, _END):
            parts.append(block)
            if sum(map(len, parts)) > _WHOLE:
                break
        return b"".join(parts)
    return os.pread(descriptor, _END, 0) + os.pread(descriptor, _END, size - _END)


def _repository(path: Path) -> Path | None:
    """The root of the innermost repository that contains a path."""
    for folder in list(path.parents)[:_MAX_DEPTH]:
        if os.path.lexists(folder / ".git"):
            return folder
    return None


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
                    entry.name for entry in listing if entry.name.endswith(".md") and is_used(entry.name)
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
        short = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:8]
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


MAX_FILES = 8
"""Maximum number of files whose notes go into one prompt, last named first."""

_MIN_PARTS = 2


def in_scope(paths: Iterable[str], by_key: Mapping[str, str], workspace: Workspace) -> tuple[str, ...]:
    """The notes files for the paths in a conversation, sorted.

    A path to an existing file matches only the notes of that file. A path on another machine matches the
    notes of a file with the same last parts, at least two, if there is exactly one.

    ``paths`` are as in the tool calls, newest first; relative ones are relative to ``workspace``. ``by_key``
    has the notes files by the path of their file.
    """
    found: dict[str, None] = {}
    for path in dict.fromkeys(paths):
        if len(found) >= MAX_FILES or not by_key:
            break
        name = _notes_of(path, by_key, workspace)
        if name:
            found[name] = None
    return tuple(sorted(found))


def _notes_of(path: str, by_key: Mapping[str, str], workspace: Workspace) -> str:
    try:
        absolute = on_disk(workspace.root / path)  # an absolute path stays what it is
        is_here = absolute.is_file()
    except (OSError, ValueError):
        return ""
    if is_here:
        place = place_of_file(workspace, absolute)
        return "" if place is None else by_key.get(place.key, "")
    path = composed(path)
    if path in by_key:
        return by_key[path]
    likely = [notes for key, notes in by_key.items() if _ends_alike(path, key)]
    return likely[0] if len(likely) == 1 else ""


def _ends_alike(path: str, key: str) -> bool:
    """True if one path ends with the whole other path."""
    here, there = path.strip("/").split("/"), key.strip("/").split("/")
    short, long = sorted((here, there), key=len)
    return len(short) >= _MIN_PARTS and long[-len(short) :] == short
