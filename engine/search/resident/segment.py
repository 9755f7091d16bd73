"""Chunks in memory as arrays: the postings of their terms, their vectors and their positions (spec 7).

A segment is immutable. Additions form a new segment, deletions are masked, and segments are merged now and
then. A file's chunks are in one segment, in file order, so that neighbours are adjacent in the arrays.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zlib import crc32

from engine.search.resident.terms import Terms
from engine.startup.records import dataclass

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Ints = NDArray[numpy.int32]
    Bools = NDArray[numpy.bool_]

WEIGHTS = (5, 4, 5, 1, 1)
"""Weights of a word in a chunk's prose, its heading, its ``about`` terms, its quotations, and as part of an
identifier; in fifths."""
PERSON = "user"
"""The speaker of the user's turns in a conversation with an agent, without a name."""
AGENT = "agent"
"""The speaker of the agent's turns."""
_TURNS = 3
"""Minimum number of turns for a speaker's name; ``Note:`` at the beginning of a turn is not a name."""
_MOST_COUNT = 255
_MOST_LENGTH = 65_535
_BATCH = 4_096


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as stored in the index."""

    id: int
    speaker: str  # role and, if known, name
    date: str  # ISO; empty if undated
    texts: tuple[str, ...]  # in the order of ``WEIGHTS``; the last ones may be missing
    vector: bytes  # int8, packed; empty without one
    characters: int = 0  # length of its whole text
    kind: int = 0  # as returned by ``engine.search.worth.kind``


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file with its chunks, in order."""

    id: int
    path: str
    category: str
    chunks: Sequence[ChunkRow]


@dataclass(frozen=True, eq=False)
class Segment:
    """Files and their chunks: ``N`` chunks, ``F`` files, ``T`` terms, ``P`` postings, ``D`` dimensions."""

    chunks: NDArray[numpy.int64]  # int64 ``[N]``: row ids
    owners: Ints  # int32 ``[N]``: the place of each chunk's file
    lengths: NDArray[numpy.uint16]  # uint16 ``[N]``: number of terms, weighted, in fifths
    sizes: Ints  # int32 ``[N]``: length of the text in characters
    days: Ints  # int32 ``[N]``: proleptic Gregorian ordinal of the date; 0 if undated
    speakers: NDArray[numpy.uint64]  # uint64 ``[N]``: term number of the speaker's first name; 0 without one
    persons: Bools  # bool ``[N]``: whether the speaker is ``PERSON``
    kinds: NDArray[numpy.uint8]  # uint8 ``[N]``: as returned by ``engine.search.worth.kind``
    bits: NDArray[numpy.uint8]  # uint8 ``[N, D/8]``: the signs of the vectors
    vectors: NDArray[numpy.int8]  # int8 ``[N, D]``; a row of zeros for a chunk without one
    scales: NDArray[numpy.float32]  # float32 ``[N]``: factor that makes the vector's length 1; 0 for zeros
    marks: NDArray[numpy.uint32]
    """uint32 ``[N]``: a checksum of the vector, for samples that do not depend on the chunks' places."""
    terms: NDArray[numpy.uint64]  # uint64 ``[T]``, ascending
    starts: NDArray[numpy.int64]  # int64 ``[T + 1]``: start of each term's postings
    postings: Ints  # int32 ``[P]``: places of chunks, ascending for each term
    counts: NDArray[numpy.uint8]  # uint8 ``[P]``: occurrences, weighted, in fifths
    files: NDArray[numpy.int64]  # int64 ``[F]``: row ids
    firsts: Ints  # int32 ``[F + 1]``: the first chunk of each file
    paths: tuple[str, ...]  # ascending
    categories: tuple[str, ...]  # of ``paths``

    def __len__(self) -> int:
        return len(self.chunks)

    @cached_property
    def floors(self) -> dict[float, Floats]:
        """BM25 length penalties, float32 ``[N]``, cached for the last mean length."""
        return {}

    @cached_property
    def extents(self) -> NDArray[numpy.int64]:
        """The total of ``lengths`` by file, ``[F]``."""
        import numpy  # noqa: PLC0415 — only a search needs it

        sums = numpy.bincount(self.owners, weights=self.lengths, minlength=len(self.files))
        return sums.astype(numpy.int64)

    @cached_property
    def extent(self) -> int:
        """The total of ``lengths``."""
        import numpy  # noqa: PLC0415 — only a search needs it

        return int(self.lengths.sum(dtype=numpy.int64))

    @cached_property
    def speaker_files(self) -> dict[int, list[int]]:
        """The files in which each speaker, by term number, has at least ``_TURNS`` turns."""
        import numpy  # noqa: PLC0415 — only a search needs it

        named = numpy.flatnonzero(self.speakers)
        pairs = numpy.stack([self.speakers[named], self.owners[named].astype(numpy.uint64)])
        (speakers, files), counts = numpy.unique(pairs, axis=1, return_counts=True)
        found: dict[int, list[int]] = {}
        for speaker, file in zip(
            speakers[counts >= _TURNS].tolist(), files[counts >= _TURNS].tolist(), strict=True
        ):
            found.setdefault(speaker, []).append(file)
        return found

    @cached_property
    def signs(self) -> NDArray[Any]:
        """``bits`` transposed, ``[D/64, N]``; ``[D/8, N]`` if the dimensions are not a multiple of 64."""
        import numpy  # noqa: PLC0415 — only a search needs it

        wide = self.bits.shape[1] % 8 == 0 and self.bits.flags.c_contiguous
        bits = self.bits.view(numpy.uint64) if wide else self.bits
        return numpy.ascontiguousarray(bits.T)

    def span(self, term: int) -> tuple[int, int]:
        """Start and end of a term's postings."""
        # Converted to the array's type, since a Python int would be compared as a float.
        place = int(self.terms.searchsorted(self.terms.dtype.type(term)))
        if place == len(self.terms) or int(self.terms[place]) != term:
            return 0, 0
        return int(self.starts[place]), int(self.starts[place + 1])

    @cached_property
    def blank(self) -> Ints:
        """The places of the chunks without a vector."""
        import numpy  # noqa: PLC0415 — only a search needs it

        return numpy.flatnonzero(self.scales == 0).astype(numpy.int32)

    def place_of(self, path: str) -> int | None:
        """The place of a file; ``None`` if it is not in the segment."""
        place = bisect_left(self.paths, path)
        return place if place < len(self.paths) and self.paths[place] == path else None


@dataclass(frozen=True, slots=True)
class Part:
    """A segment with the masks and data of one query."""

    segment: Segment
    alive: Bools | None  # bool ``[N]``: chunks that were not deleted; ``None`` for all
    allowed: Bools | None  # bool ``[N]``: chunks that may be results; ``None`` for all that are alive
    fading: Bools | None = None
    """bool ``[F]``: files whose text counts less as it gets older; ``None`` for none."""
    used: Floats | None = None  # float32 ``[F]``: useful references to each file; ``None`` for none
    _spans: dict[int, tuple[int, int]] = field(default_factory=dict, repr=False)

    def span(self, term: int) -> tuple[int, int]:
        """Start and end of a term's postings, cached because every step of a query needs them."""
        known = self._spans.get(term)
        if known is None:
            known = self._spans[term] = self.segment.span(term)
        return known

    def is_participant(self, term: int) -> bool:
        """Whether a term is the name of a speaker in a conversation that was not deleted."""
        files = self.segment.speaker_files.get(term, ())
        return bool(files) if self.alive is None else any(self.alive[self.segment.firsts[f]] for f in files)

    def holders(self, term: int) -> int:
        """The number of chunks with a term, except deleted ones."""
        first, last = self.span(term)
        if self.alive is None or first == last:
            return last - first
        return int(self.alive[self.segment.postings[first:last]].sum())


ARRAYS = tuple(each.name for each in fields(Segment) if each.name not in ("paths", "categories"))
"""The array fields, in order."""
_COLUMNS = (
    *("chunks", "lengths", "sizes", "days", "speakers", "persons", "kinds"),
    *("bits", "vectors", "scales", "marks"),
)
"""The array fields with independent data for each chunk."""


def build(files: Iterable[FileRow], terms: Terms, dimensions: int) -> Segment:
    """Build a segment from files.

    ``files`` must be ordered by path; ``dimensions`` is a multiple of 8, or 0 without vectors.
    """
    import numpy  # noqa: PLC0415 — only a search needs it

    made = _Builder(terms, dimensions)
    for file in files:
        made.add(file)
    owners = numpy.frombuffer(made.owners, dtype=numpy.int32)
    vectors = numpy.frombuffer(bytes(made.vectors), dtype=numpy.int8).reshape(-1, dimensions or 1)
    if not dimensions:
        vectors = numpy.zeros((len(owners), 0), dtype=numpy.int8)
    numbers = numpy.frombuffer(terms.numbers, dtype=numpy.uint64)
    whole = numpy.frombuffer(made.terms, dtype=numpy.int32)
    places = numpy.repeat(
        numpy.arange(len(owners), dtype=numpy.int32), numpy.frombuffer(made.distinct, dtype=numpy.int32)
    )
    sizes = numpy.bincount(whole, minlength=len(numbers))
    met = numpy.flatnonzero(sizes)
    met = met[numpy.argsort(numbers[met])]
    rank = numpy.zeros(len(numbers), dtype=numpy.int32)
    rank[met] = numpy.arange(len(met), dtype=numpy.int32)
    order = numpy.argsort(rank[whole], kind="stable")
    return Segment(
        chunks=numpy.frombuffer(made.chunks, dtype=numpy.int64),
        owners=owners,
        lengths=numpy.frombuffer(made.lengths, dtype=numpy.uint16),
        sizes=numpy.frombuffer(made.sizes, dtype=numpy.int32),
        days=numpy.frombuffer(made.days, dtype=numpy.int32),
        speakers=numpy.frombuffer(made.speakers, dtype=numpy.uint64),
        persons=numpy.frombuffer(made.persons, dtype=numpy.bool_),
        kinds=numpy.frombuffer(made.kinds, dtype=numpy.uint8),
        bits=numpy.packbits(vectors > 0, axis=1),
        vectors=vectors,
        scales=scales_of(vectors),
        marks=numpy.frombuffer(made.marks, dtype=numpy.uint32),
        terms=numbers[met],
        starts=numpy.concatenate([[0], numpy.cumsum(sizes[met])]).astype(numpy.int64),
        postings=places[order],
        counts=numpy.frombuffer(made.counts, dtype=numpy.uint8)[order],
        files=numpy.frombuffer(made.files, dtype=numpy.int64),
        firsts=numpy.frombuffer(array("i", [*made.firsts, len(owners)]), dtype=numpy.int32),
        paths=tuple(made.paths),
        categories=tuple(made.categories),
    )


def scales_of(vectors: NDArray[numpy.int8]) -> NDArray[numpy.float32]:
    """The factor that makes each row's length 1; 0 for a row of zeros."""
    import numpy  # noqa: PLC0415 — only a search needs it

    scales = numpy.zeros(len(vectors), dtype=numpy.float32)
    for start in range(0, len(vectors), _BATCH):
        rows = vectors[start : start + _BATCH].astype(numpy.float32)
        lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
        numpy.divide(1.0, lengths, out=scales[start : start + _BATCH], where=lengths > 0)
    return scales


class _Builder:
    """Collects the columns of a segment in compact arrays."""

    def __init__(self, terms: Terms, dimensions: int) -> None:
        self._terms = terms
        self._none = bytes(dimensions)
        self.terms, self.counts = array("i"), array("B")
        self.chunks, self.owners, self.distinct = array("q"), array("i"), array("i")
        self.lengths, self.sizes, self.days = array("H"), array("i"), array("i")
        self.speakers = array("Q")
        self.persons, self.kinds = bytearray(), bytearray()
        self.vectors, self.marks = bytearray(), array("I")
        self.files, self.firsts = array("q"), array("i")
        self.paths: list[str] = []
        self.categories: list[str] = []

    def add(self, file: FileRow) -> None:
        self.firsts.append(len(self.chunks))
        for row in file.chunks:
            self._chunk(row, len(self.files))
        self.files.append(file.id)
        self.paths.append(file.path)
        self.categories.append(file.category)

    def _chunk(self, row: ChunkRow, owner: int) -> None:
        of = self._terms.of
        counted = Counter(of(row.texts[0]))
        for term in counted:
            counted[term] *= WEIGHTS[0]
        for words, weight in zip(row.texts[1:], WEIGHTS[1:], strict=False):
            for term in of(words):
                counted[term] += weight
        self.terms.extend(counted)
        counts = counted.values()
        self.counts.extend(counts if max(counts, default=0) <= _MOST_COUNT else map(_capped, counts))
        self.chunks.append(row.id)
        self.owners.append(owner)
        self.distinct.append(len(counted))
        self.lengths.append(min(sum(counts), _MOST_LENGTH))
        self.sizes.append(row.characters)
        self.days.append(day_of(row.date))
        self.speakers.append(speaker_of(row.speaker, self._terms))
        self.persons.append(row.speaker == PERSON)
        self.kinds.append(row.kind)
        vector = row.vector if len(row.vector) == len(self._none) else self._none
        self.vectors += vector
        self.marks.append(crc32(vector))


def _capped(count: int) -> int:
    return min(count, _MOST_COUNT)


def day_of(date: str) -> int:
    """The ordinal of an ISO date; 0 if it is empty or invalid."""
    from datetime import date as day  # noqa: PLC0415 — too common a name at module level

    try:
        return day.fromisoformat(date).toordinal() if date else 0
    except ValueError:
        return 0


def speaker_of(speaker: str, terms: Terms) -> int:
    """The term number of a speaker's first name, which follows the role; 0 without a name."""
    _, _, name = speaker.partition(" ")
    places = terms.of_query(name)
    return terms.numbers[places[0]] if places else 0


def merged(segments: Sequence[tuple[Segment, Bools]]) -> Segment:
    """Merge all unmasked files into one segment, ordered by path.

    Each segment comes with a mask of the files to keep, bool ``[F]``.
    """
    import numpy  # noqa: PLC0415 — only a search needs it

    offsets = numpy.cumsum([0, *(len(segment) for segment, _ in segments)])
    files: list[tuple[str, int, int]] = sorted(
        (segment.paths[place], number, int(place))
        for number, (segment, alive) in enumerate(segments)
        for place in numpy.flatnonzero(alive)
    )
    parts = [segments[number][0] for _, number, _ in files]
    spans = [
        (int(part.firsts[place]), int(part.firsts[place + 1]))
        for part, (_, _, place) in zip(parts, files, strict=True)
    ]
    # Maps a chunk's place among all chunks, masked or not, to its new place; -1 for removed chunks.
    moved = numpy.full(int(offsets[-1]), -1, dtype=numpy.int64)
    order: list[Any] = []
    total = 0
    for (_, number, _), (first, last) in zip(files, spans, strict=True):
        old = numpy.arange(offsets[number] + first, offsets[number] + last)
        moved[old] = numpy.arange(total, total + last - first)
        order.append(old)
        total += last - first
    taken = numpy.concatenate(order) if order else numpy.zeros(0, dtype=numpy.int64)

    columns: dict[str, Any] = {
        name: numpy.concatenate([getattr(segment, name) for segment, _ in segments])[taken]
        for name in _COLUMNS
    }
    known, codes = numpy.unique(
        numpy.concatenate([segment.terms for segment, _ in segments]), return_inverse=True
    )
    code = numpy.repeat(codes, numpy.concatenate([numpy.diff(segment.starts) for segment, _ in segments]))
    places = moved[
        numpy.concatenate(
            [segment.postings + offset for (segment, _), offset in zip(segments, offsets[:-1], strict=True)]
        )
    ]
    kept = numpy.flatnonzero(places >= 0)
    # Each segment's postings are already in this order, which makes a stable sort fast.
    sorting = kept[numpy.argsort(code[kept] * max(total, 1) + places[kept], kind="stable")]
    sizes = numpy.bincount(code[kept], minlength=len(known))
    met = numpy.flatnonzero(sizes)
    return Segment(
        **columns,
        owners=numpy.repeat(
            numpy.arange(len(files), dtype=numpy.int32), [last - first for first, last in spans]
        ),
        terms=known[met],
        starts=numpy.concatenate([[0], numpy.cumsum(sizes[met])]).astype(numpy.int64),
        postings=places[sorting].astype(numpy.int32),
        counts=numpy.concatenate([segment.counts for segment, _ in segments])[sorting],
        files=numpy.array(
            [part.files[place] for part, (_, _, place) in zip(parts, files, strict=True)], dtype=numpy.int64
        ),
        firsts=numpy.cumsum([0, *(last - first for first, last in spans)]).astype(numpy.int32),
        paths=tuple(path for path, _, _ in files),
        categories=tuple(part.categories[place] for part, (_, _, place) in zip(parts, files, strict=True)),
    )
