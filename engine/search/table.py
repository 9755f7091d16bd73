"""The chunks considered for one query, as arrays of what they are ranked by (spec 7.3).

No text is read for a query: a chunk's terms were counted when it was written (``engine.search.facts``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Ints = NDArray[numpy.int64]
    Bools = NDArray[numpy.bool_]

FADING = frozenset(("conversation", "journal"))
"""Categories whose text counts less as it gets older; the others are evergreen."""


class Row(NamedTuple):
    """A chunk as an index stores it. Of hundreds, plain tuples in this order will do."""

    chunk: int
    file: int
    position: int  # in the file, from 0
    length: int  # number of terms, weighted, in fifths
    size: int  # length of the text in characters
    day: int  # proleptic Gregorian ordinal of the date; 0 if undated
    name: int  # term number of the speaker's first name; 0 without one
    kind: int  # as returned by ``engine.search.worth.kind``
    is_person: int
    terms: bytes  # numbers, uint32
    counts: bytes  # of ``terms``: occurrences, weighted, in fifths, uint8
    vector: bytes  # int8; empty without one


class File(NamedTuple):
    """A file of some chunks."""

    path: str
    category: str
    extent: int  # the total of ``Row.length`` of all its chunks
    names: frozenset[int] = frozenset()
    """The term numbers of the speakers, among those asked for, who have at least one turn in it."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What ranking needs to know of the whole index."""

    chunks: int
    length: int  # the total of ``Row.length``
    files: int  # files with chunks
    held: Mapping[int, int]  # the number of chunks by term; a term that is missing is in none
    speakers: frozenset[int]
    """The terms asked for that are names of participants: who has several turns in one conversation."""
    sample: Floats  # float32 ``[S, D]``: unit vectors that represent those of all chunks

    def holders(self, term: int) -> int:
        """The number of chunks that contain a term."""
        return self.held.get(term, 0)


@dataclass(frozen=True, eq=False)
class Table:
    """``N`` chunks of ``F`` files, ordered by path and position in the file."""

    chunks: Ints  # ``[N]``: row ids
    owners: Ints  # ``[N]``: the place of each chunk's file
    positions: Ints  # ``[N]``: in the file
    lengths: Ints
    sizes: Ints
    days: Ints
    names: Ints
    kinds: Ints
    persons: Bools
    vectors: Floats  # ``[N, D]``; a row of zeros for a chunk without one
    scales: Floats  # ``[N]``: the factor that makes a vector's length 1; 0 for zeros
    files: tuple[File, ...]  # ordered by path
    terms: NDArray[numpy.uint32]  # ``[P]``: the terms of the first chunk, of the second, and so on
    counts: NDArray[numpy.uint8]  # ``[P]``
    ends: Ints  # ``[N]``: where the terms of each chunk end

    def __len__(self) -> int:
        return len(self.chunks)

    def postings(self, term: int) -> tuple[Ints, Floats]:
        """The places of the chunks with a term, ascending, and how often each has it, weighted, in fifths."""
        at = numpy.flatnonzero(self.terms == numpy.uint32(term))
        return numpy.searchsorted(self.ends, at, side="right"), self.counts[at].astype(numpy.float32)


def table_of(rows: Sequence[tuple[Any, ...]], files: Mapping[int, File], dimensions: int) -> Table:
    """A table of some chunks.

    Args:
        rows: Distinct, in any order, as ``Row``.
        files: Those of the rows by id; the rows of others are left out.
        dimensions: Of the vectors; 0 without any. A vector of another length counts as none.

    Raises:
        TypeError, ValueError: A row has values of wrong types or lengths.
    """
    order = sorted(files, key=lambda file: files[file].path)
    rows = [row for row in rows if row[1] in files]
    ids = numpy.array([row[:9] for row in rows], dtype=numpy.int64).reshape(-1, 9)
    by_id = numpy.argsort(order)
    owners = by_id[numpy.searchsorted(numpy.array(order, dtype=numpy.int64)[by_id], ids[:, 1])]
    place = numpy.lexsort((ids[:, 2], owners))
    ids, owners = ids[place], owners[place]
    chunks, _, positions, lengths, sizes, days, names, kinds, persons = ids.T
    there = place.tolist()
    none = bytes(dimensions)
    given = [rows[at][11] for at in there]
    packed = b"".join([vector if len(vector) == dimensions else none for vector in given])
    vectors = numpy.frombuffer(packed, dtype=numpy.int8).reshape(len(rows), dimensions).astype(numpy.float32)
    counts = [rows[at][10] for at in there]
    sums = numpy.frombuffer(b"".join(counts), dtype=numpy.uint8)
    terms = numpy.frombuffer(b"".join([rows[at][9] for at in there]), dtype=numpy.uint32)
    if len(terms) != len(sums):
        raise ValueError("the terms and their counts differ in number")
    return Table(
        chunks,
        owners,
        positions,
        lengths,
        sizes,
        days,
        names,
        kinds,
        persons.astype(bool),
        vectors,
        scales_of(vectors),
        tuple(files[file] for file in order),
        terms,
        sums,
        numpy.cumsum(list(map(len, counts)), dtype=numpy.int64),
    )


def scales_of(rows: Floats) -> Floats:
    """The factor that makes each row's length 1; 0 for a row of zeros."""
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))
    found: Floats = numpy.divide(1.0, lengths, out=numpy.zeros_like(lengths), where=lengths > 0)
    return found
