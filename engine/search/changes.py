"""Computes the rows a file should have, and how they differ from those in the index (spec 7.3)."""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace

from engine.errors import AutopoiesisError
from engine.search import chunks, logs
from engine.search.sources import MAX_BYTES, Source
from engine.startup.records import dataclass
from engine.store.crypt import LOCKED, is_encrypted
from engine.store.files import Files

_SETTLED_NS = 2_000_000_000
_UNREAD = "-"

ChunkRow = tuple[int, int, int, str, str, str, str, str]
"""Position, first line, last line, speaker, date, heading, about, text."""

Stored = tuple[int, int, int, int, str, str, str, str, str]
"""A chunk in the index: its row id, then as in ``ChunkRow``."""

_Words = tuple[str, str, str, str, str]
_Place = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Known:
    """A file as recorded in the index; the fields are columns of the ``files`` table."""

    id: int
    sha256: str
    size: int
    mtime_ns: int
    ctime_ns: int
    read_ns: int
    skipped: str

    def is_current(self, source: Source) -> bool:
        """Whether size and times prove that the content is unchanged since it was read.

        A file changed right after it was read may have the same time, because file system clocks are coarse.
        """
        return (
            bool(self.sha256)
            and (self.size, self.mtime_ns, self.ctime_ns) == (source.size, source.mtime_ns, source.ctime_ns)
            and self.mtime_ns + _SETTLED_NS <= self.read_ns
        )


@dataclass(frozen=True, slots=True)
class Change:
    """The update to write for one file."""

    source: Source
    known: Known | None  # ``None`` for a new file
    sha256: str  # of its bytes; ``""`` to read it again next time
    read_ns: int
    contents: chunks.Contents | None = None  # ``None`` if unchanged, or if the file is skipped
    skipped: str = ""  # why it has no chunks
    rows: tuple[ChunkRow, ...] = ()
    new: tuple[ChunkRow, ...] = ()  # those of ``rows`` that are not in the index
    moved: tuple[tuple[int, _Place], ...] = ()  # row id and new place of each moved chunk
    gone: tuple[int, ...] = ()  # row ids of removed chunks

    @property
    def is_none(self) -> bool:
        """Whether the content is unchanged, whatever size and time say."""
        return self.known is not None and self.contents is None and self.skipped == self.known.skipped


def opened(files: Files, source: Source, known: Known | None) -> tuple[Change, bytes | None]:
    """Read a file. One that cannot be read is skipped.

    Returns:
        The change without rows, and the bytes to split into chunks; ``None`` if the content is unchanged, or
        the file is skipped.
    """
    now = time.time_ns()
    if source.size > MAX_BYTES:
        why = f"is larger than {MAX_BYTES // 1024 // 1024} MB"
        return Change(source, known, _UNREAD, now, skipped=why), None
    try:
        data = files.read(source.path, limit=MAX_BYTES)
    except FileNotFoundError:
        return Change(source, known, "", now, skipped="disappeared while being read"), None
    except AutopoiesisError as error:
        return Change(source, known, "", now, skipped=error.what), None
    sha256 = hashlib.sha256(data).hexdigest()
    why = ""
    if known is not None and known.sha256 == sha256:
        return Change(source, known, sha256, now, skipped=known.skipped), None
    if b"\0" in data:
        why = LOCKED if is_encrypted(data) else "is binary"
    elif logs.is_log(source.path) and not logs.is_known(data, source.path):
        why = "is a log in an unknown format"
    return Change(source, known, sha256, now, skipped=why), None if why else data


def compared(change: Change, stored: Iterable[Stored]) -> Change:
    """Fill in the rows of a change. A chunk that only moved keeps its row, and with it its vector."""
    pieces = change.contents.pieces if change.contents else ()
    rows = tuple(_row(position, piece) for position, piece in enumerate(pieces))
    old: defaultdict[_Words, deque[tuple[int, _Place]]] = defaultdict(deque)
    for chunk, position, start, end, *words in stored:
        speaker, date, heading, about, text = words
        old[speaker, date, heading, about, text].append((chunk, (position, start, end)))
    new: list[ChunkRow] = []
    moved: list[tuple[int, _Place]] = []
    for row in rows:
        if same := old.get(row[3:]):
            chunk, place = same.popleft()
            if place != row[:3]:
                moved.append((chunk, row[:3]))
        else:
            new.append(row)
    gone = tuple(chunk for left in old.values() for chunk, _ in left)
    return replace(change, rows=rows, new=tuple(new), moved=tuple(moved), gone=gone)


def _row(position: int, piece: chunks.Piece) -> ChunkRow:
    chunk = piece.chunk
    place = (position, chunk.start_line, chunk.end_line)
    return (*place, piece.speaker, chunk.date, chunk.heading, piece.about, chunk.text)


def file_digest(about_file: Iterable[str | int], rows: Iterable[ChunkRow]) -> str:
    """SHA-256 of a file's searchable fields and its chunks in order, to detect rows that were altered."""
    digest = hashlib.sha256(json.dumps(list(about_file)).encode())
    for row in rows:
        digest.update(json.dumps(row).encode())
    return digest.hexdigest()
