"""Brings an index up to date with the files, in steps that keep it consistent (spec 7.3)."""

from __future__ import annotations

import hashlib
import json
import time
from abc import ABC, abstractmethod
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from engine.errors import AutopoiesisError
from engine.search import chunks, logs, passages
from engine.search.embeddings import BATCH_TEXTS
from engine.search.reports import IndexReport, Progress, Skipped
from engine.search.sources import MAX_BYTES, Source, all_sources, is_encodable, named_sources
from engine.search.terms import Terms
from engine.startup.records import dataclass
from engine.store.crypt import LOCKED, is_encrypted
from engine.store.files import Files
from engine.store.paths import Workspace, shown

if TYPE_CHECKING:
    from engine.search.state import State


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


Read = tuple[Change, bytes | None]
"""As from ``opened``."""

_Item = TypeVar("_Item")

BATCH_FILES = 64
BATCH_BYTES = 2 * 1024 * 1024


class _Stopped(Exception):
    """The refresh must stop."""


class Writer(ABC):
    """One refresh of one index.

    Args:
        progress: Called several times for each file. If it raises, the batches written before are kept.
        stopping: Called as often; returns whether to stop early.
    """

    def __init__(
        self,
        workspace: Workspace,
        files: Files,
        without_vectors: str = "",
        *,
        progress: Progress | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._progress = progress or (lambda done, total: None)
        self._stopping = stopping
        self._terms = Terms()
        self._without_vectors = without_vectors
        self._stopped = False
        self._done = self._total = 0
        self._left_out: list[Skipped] = []
        self._counts: Counter[str] = Counter()

    @abstractmethod
    def _known(self, paths: Sequence[str] | None) -> dict[str, Known]:
        """The files in the index by path: all, or those at or below some paths."""

    @abstractmethod
    def _remove(self, gone: Mapping[str, Known]) -> None:
        """Take some files out of the index."""

    @abstractmethod
    def _write(self, batch: Sequence[Read]) -> None:
        """Write what has been read of some files."""

    def _why_left_out(self, source: Source) -> str | None:
        """Why the index cannot name a file, in one clause; ``""`` not to mention it, ``None`` if it can."""
        return None if is_encodable(source.path) else "its name is not UTF-8"

    def _compare(self, paths: Sequence[str] | None) -> bool:
        """Bring all files, or those at some paths, up to date.

        Returns:
            Whether there was something to do.
        """
        asked, sources = self._sources(paths)
        known = self._known(asked)
        pending: list[Source] = []
        for source in sources:
            row = known.get(source.path)
            if row is not None and row.is_current(source):
                self._counts["unchanged"] += 1
            else:
                pending.append(source)
        gone = sorted(known.keys() - {source.path for source in sources})
        if not pending and not gone:
            return False
        self._total = len(pending)
        self._progress(0, self._total)
        for names in batches(gone, BATCH_TEXTS):
            self._remove({name: known[name] for name in names})
            self._counts["removed"] += len(names)
        try:
            for batch in self._read(pending, known):
                self._write(batch)
                self._step(len(batch))
        except _Stopped:
            self._stopped = True
        return True

    def _step(self, done: int = 0) -> None:
        """Count files as done; if the refresh must stop, the batch at hand ends here, not written."""
        self._done += done
        self._progress(self._done, self._total)
        if self._done < self._total and self._stopping():
            raise _Stopped

    def _sources(self, paths: Sequence[str] | None) -> tuple[list[str] | None, list[Source]]:
        """The files to have in the index, and the paths at which they are asked for."""
        asked: list[str] | None = None
        found: Iterable[Source] = ()
        if paths is None:
            found = all_sources(self._workspace)
        else:
            named = [named_sources(self._workspace, path) for path in paths]
            asked = [plain for plain, _ in named if plain and is_encodable(plain) and "\0" not in plain]
            found = {source.path: source for _, sources in named for source in sources}.values()
        sources: list[Source] = []
        # In the order of their paths, and thus conversations by date, so that equal files give equal indexes.
        for source in sorted(found, key=lambda each: each.path):
            why = self._why_left_out(source)
            if why is None:
                sources.append(source)
            elif why:
                self._left_out.append(Skipped(shown(source.path), why))
        return asked, sources

    def _read(self, pending: Sequence[Source], known: Mapping[str, Known]) -> Iterator[list[Read]]:
        """Read the files in batches that fit in memory and in one transaction."""
        batch: list[Read] = []
        size = 0
        for source in pending:
            self._step()
            batch.append(opened(self._files, source, known.get(source.path)))
            size += source.size
            if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _count(self, change: Change, *, is_same: bool) -> None:
        """Count a file that was written."""
        self._counts["added" if change.known is None else "unchanged" if is_same else "changed"] += 1

    def report(self, state: State, seconds: float, rebuilt: str) -> IndexReport:
        """What was done, after which the index is in some state."""
        return IndexReport(
            self._counts["added"],
            self._counts["changed"],
            self._counts["removed"],
            self._counts["unchanged"],
            (*state.skipped(), *self._left_out),
            state.totals[0],
            seconds=seconds,
            rebuilt=rebuilt,
            vectors=self._without_vectors,
            waiting=state.missing(),
            stopped=self._stopped,
        )


def packed_passages(contents: chunks.Contents | None) -> tuple[bytes, bytes, bytes, bytes]:
    """The arrays of ``engine.search.past.Session`` for a conversation, packed, in their order."""
    # What another person and their agent said is found by a search, but told to no one unasked.
    pieces = contents.pieces if contents is not None and not contents.author else ()
    found = passages.passages(pieces)
    places = array("i", (number for each in found for number in each[:4]))
    lengths = array("i", (len(each.words) // places.itemsize for each in found))
    spoken = b"".join(each.words for each in found)
    return passages.session_words(pieces), places.tobytes(), lengths.tobytes(), spoken


def batches(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
