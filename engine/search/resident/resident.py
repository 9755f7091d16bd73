"""The in-memory index, built from memory.db, kept in sync with it and saved as a file for the next process.

``memory.db`` remains the index of record. Each change in it has a stamp, so that changes since the last
search are found quickly: the changed files are masked in their segments and added again as a new segment.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engine.search import schema
from engine.search.resident import image
from engine.search.resident.segment import ChunkRow, FileRow, Segment, build, merged
from engine.search.resident.terms import Terms
from engine.search.resident.wording import wording
from engine.search.worth import kind
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.search.resident.segment import Bools, Floats

FADING = frozenset(("conversation", "journal"))
"""Categories whose text counts less as it gets older; the others are evergreen."""
SAMPLE = 2_048
"""Maximum number of chunks whose vectors represent those of all chunks."""
_VIEWS = 2
_STALE_LEAST = 256
_STALE_PART = 16
"""An image is saved again once more than 256 chunks and more than 1/16 of them were added or removed."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The index at one moment."""

    index: str
    embedder: str  # id of the model; empty without vectors
    stamp: int  # the last change it includes
    segments: tuple[Segment, ...]  # the first is or will be saved as the image, the others were added later
    files_alive: tuple[Bools, ...]  # per segment, bool ``[F]``: the files that were not deleted
    alive: tuple[
        Bools | None, ...
    ]  # per segment, bool ``[N]``: chunks that were not deleted; ``None`` for all
    fading: tuple[Bools, ...]  # per segment, bool ``[F]``: the files in ``FADING`` categories
    sample: Floats  # float32 ``[S, D]``: unit vectors of up to ``SAMPLE`` chunks

    def allowed(self, number: int, category: str | None, exclude: Collection[str]) -> Bools | None:
        """The chunks of a segment that may be results, bool ``[N]``; ``None`` for all chunks."""
        import numpy  # noqa: PLC0415 — only a search needs it

        segment, alive = self.segments[number], self.alive[number]
        if category is None and not exclude:
            return alive
        mask = self.files_alive[number].copy()
        if category is not None:
            mask &= numpy.array([each == category for each in segment.categories], dtype=bool)
        mask[[place for path in exclude if (place := segment.place_of(path)) is not None]] = False
        found: Bools = mask[segment.owners]
        return found


class Resident:
    """Provides views of one index. Thread-safe; views are immutable."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self._folder = folder
        self._read_only = read_only
        self._guard = threading.Lock()
        self._terms = Terms()
        # Newest first. A search that started before the last change still uses the previous view.
        self._views: tuple[View, ...] = ()

    def view(self, connection: apsw.Connection) -> View:
        """The index as seen by a connection, which must be in a transaction on a complete database.

        Raises:
            apsw.Error: The database is damaged.
        """
        meta = schema.all_meta(connection)
        index, embedder, stamp = meta["index"], meta["embedder"], int(meta["stamp"] or 0)
        with self._guard:
            same = [view for view in self._views if (view.index, view.embedder) == (index, embedder)]
            known = next((view for view in same if view.stamp <= stamp), None)
            if known is None:
                known = self._from_image(connection, index, embedder, stamp)
            if known is None:
                known = self._from_database(connection, index, embedder, stamp)
            if known.stamp != stamp:
                known = self._updated(connection, known, stamp)
            others = [view for view in same if view.stamp != stamp]
            self._views = tuple(sorted([known, *others], key=lambda view: -view.stamp)[:_VIEWS])
            return known

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """The distinct term numbers of some words."""
        with self._guard:
            places = dict.fromkeys(place for text in texts for place in self._terms.of_query(text))
            return [self._terms.numbers[place] for place in places]

    def save_image(self, connection: apsw.Connection) -> None:
        """Update the image on disk if enough has changed. The connection must be able to write."""
        total = int(connection.execute("SELECT coalesce(sum(chunk_count), 0) FROM files").get)
        imaged = int(schema.get_meta(connection, "imaged") or -1)
        added = int(
            connection.execute(
                "SELECT coalesce(sum(chunk_count), 0) FROM files WHERE stamp > ?", (imaged,)
            ).get
        )
        before = int(schema.get_meta(connection, "imaged_chunks") or 0) if imaged >= 0 else 0
        removed = before + added - total
        tolerated = max(_STALE_LEAST, total // _STALE_PART)
        if max(added, removed) <= tolerated and (image.exists(self._folder) or total <= tolerated):
            return
        with connection:
            view = self.view(connection)
            segment = merged(list(zip(view.segments, view.files_alive, strict=True)))
            image.save(self._folder, image.Image(view.index, view.embedder, view.stamp, segment))
            schema.set_meta(connection, "imaged", str(view.stamp))
            schema.set_meta(connection, "imaged_chunks", str(len(segment)))
        with self._guard:
            if view in self._views[:1]:
                self._views = (_view(view.index, view.embedder, view.stamp, (segment,)),)

    def _from_image(self, connection: apsw.Connection, index: str, embedder: str, stamp: int) -> View | None:
        saved = image.load(self._folder)
        # After a power cut the database may be older than the image, and have diverged from it since.
        stale = saved is None or (
            saved.index == index and str(saved.stamp) != schema.get_meta(connection, "imaged")
        )
        if stale and not self._read_only:
            image.discard(self._folder)
        if (
            saved is None
            or stale
            or (saved.index, saved.embedder) != (index, embedder)
            or saved.stamp > stamp
        ):
            return None
        return _view(index, embedder, saved.stamp, (saved.segment,))

    def _from_database(self, connection: apsw.Connection, index: str, embedder: str, stamp: int) -> View:
        segment = build(_files(connection, -1), self._terms, _dimensions(connection))
        return _view(index, embedder, stamp, (segment,))

    def _updated(self, connection: apsw.Connection, known: View, stamp: int) -> View:
        """The view with all changes since it was created."""
        import numpy  # noqa: PLC0415 — only a search needs it

        rows = connection.execute(
            "SELECT id FROM files WHERE stamp > ?1 UNION SELECT file FROM gone WHERE stamp > ?1",
            (known.stamp,),
        )
        changed = numpy.fromiter((row[0] for row in rows), dtype=numpy.int64)
        added = build(_files(connection, known.stamp), self._terms, _dimensions(connection))
        segments = [*known.segments, added] if len(added.files) else list(known.segments)
        files_alive = [
            mask & ~numpy.isin(segment.files, changed)
            for segment, mask in zip(known.segments, known.files_alive, strict=True)
        ]
        if len(added.files):
            files_alive.append(numpy.ones(len(added.files), dtype=bool))
        # Each segment except the first stays less than half the size of the one before, so that there are few
        # segments and a chunk is rarely moved.
        while len(segments) > 2 and 2 * len(segments[-1]) >= len(segments[-2]):
            joined = merged(list(zip(segments[-2:], files_alive[-2:], strict=True)))
            segments[-2:] = [joined]
            files_alive[-2:] = [numpy.ones(len(joined.files), dtype=bool)]
        return _view(known.index, known.embedder, stamp, tuple(segments), tuple(files_alive))


def _view(
    index: str,
    embedder: str,
    stamp: int,
    segments: tuple[Segment, ...],
    files_alive: tuple[Bools, ...] | None = None,
) -> View:
    import numpy  # noqa: PLC0415 — only a search needs it

    if files_alive is None:
        files_alive = tuple(numpy.ones(len(segment.files), dtype=bool) for segment in segments)
    alive = tuple(
        None if mask.all() else mask[segment.owners]
        for segment, mask in zip(segments, files_alive, strict=True)
    )
    fading = tuple(
        numpy.array([category in FADING for category in segment.categories], dtype=bool)
        for segment in segments
    )
    return View(index, embedder, stamp, segments, files_alive, alive, fading, _sample(segments, alive))


def _sample(segments: Sequence[Segment], alive: Sequence[Bools | None]) -> Floats:
    """A sample of the vectors: those with the smallest marks, regardless of segment."""
    import numpy  # noqa: PLC0415 — only a search needs it

    marks, vectors = [], []
    for segment, mask in zip(segments, alive, strict=True):
        usable = segment.scales > 0 if mask is None else (segment.scales > 0) & mask
        places = numpy.flatnonzero(usable)
        if len(places) > SAMPLE:
            places = places[numpy.argpartition(segment.marks[places], SAMPLE)[:SAMPLE]]
        marks.append(segment.marks[places])
        vectors.append(segment.vectors[places].astype(numpy.float32) * segment.scales[places, None])
    if not vectors:
        return numpy.zeros((0, 0), dtype=numpy.float32)
    order = numpy.argsort(numpy.concatenate(marks), kind="stable")[:SAMPLE]
    found: Floats = numpy.concatenate(vectors)[order]
    return found


def _dimensions(connection: apsw.Connection) -> int:
    return int(schema.get_meta(connection, "dimensions") or 0)


def _files(connection: apsw.Connection, after: int) -> Iterator[FileRow]:
    """The files with chunks that changed after a stamp, ordered by path."""
    files = list(
        connection.execute(
            "SELECT id, path, category FROM files WHERE stamp > ? AND chunk_count > 0 ORDER BY path", (after,)
        )
    )
    for file, path, category in files:
        rows = connection.execute(
            "SELECT chunks.id, speaker, date, text, heading, about, coalesce(vector, x'') FROM chunks"
            " LEFT JOIN chunk_vectors ON chunk_vectors.chunk = chunks.id"
            " WHERE file_id = ? ORDER BY position",
            (file,),
        )
        chunks = [
            ChunkRow(chunk, speaker, date, (text, heading, about), vector)
            for chunk, speaker, date, text, heading, about, vector in rows
        ]
        if not all(map(_is_whole, chunks)) or not isinstance(path, str):
            raise apsw.CorruptError(f"the chunks of file {file} differ from what was written")
        yield FileRow(file, path, category, [_with_wording(row) for row in chunks])


def _with_wording(row: ChunkRow) -> ChunkRow:
    text, *around = row.texts
    prose, *rest = wording(text)
    return replace(row, texts=(prose, *around, *rest), characters=len(text), kind=kind(text, row.speaker))


def _is_whole(row: ChunkRow) -> bool:
    """Whether the columns have the expected types, which damage may change."""
    values = (row.speaker, row.date, *row.texts)
    return all(isinstance(value, str) for value in values) and isinstance(row.vector, bytes)
