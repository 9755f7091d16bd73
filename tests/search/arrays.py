"""Hand-made in-memory chunks for the tests of ``engine.search.resident``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
from hypothesis import strategies as st

from engine.search.resident.ranking import Found
from engine.search.resident.segment import ARRAYS, ChunkRow, FileRow, Segment, build
from engine.search.resident.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[numpy.bool_]

DIMENSIONS = 16
WORDS = ("heron", "trout", "river", "herons", "Ann", "bread", "café", "the")


class FoundRow(NamedTuple):
    """One column of ``Found``."""

    part: int
    place: int
    score: float
    words: float
    meaning: float
    speaker: float
    date: float
    neighbours: float
    session: float
    recency: float
    use: float
    lexical_rank: int | None
    vector_rank: int | None
    cosine: float | None


def rows(found: Found | None) -> list[FoundRow]:
    """The columns of ``found`` as rows."""
    if found is None:
        return []
    return [
        FoundRow(*row)
        for row in zip(
            found.parts.tolist(),
            found.places.tolist(),
            found.scores.tolist(),
            *found.shares.tolist(),
            found.lexical_ranks,
            found.vector_ranks,
            [None] * len(found) if found.cosines is None else found.cosines.tolist(),
            strict=True,
        )
    ]


def chunk(
    text: str = "",
    *,
    id: int = 0,
    speaker: str = "",
    date: str = "",
    heading: str = "",
    about: str = "",
    vector: Sequence[int] = (),
) -> ChunkRow:
    """A chunk; ``vector`` is zero-padded to ``DIMENSIONS``."""
    packed = numpy.zeros(DIMENSIONS, dtype=numpy.int8)
    packed[: len(vector)] = vector
    return ChunkRow(id, speaker, date, (text, heading, about), packed.tobytes() if vector else b"")


def files_of(*contents: Sequence[ChunkRow], category: str = "reference", names: str = "") -> list[FileRow]:
    """Files ``a``, ``b`` and so on with these chunks, numbered from 1."""
    names = names or "abcdefghijklmnopqrstuvwxyz"
    number = 0
    files = []
    for place, (name, chunks) in enumerate(zip(names, contents, strict=False), 1):
        rows = []
        for row in chunks:
            number += 1
            rows.append(ChunkRow(number, row.speaker, row.date, row.texts, row.vector))
        files.append(FileRow(place, name, category, rows))
    return files


def segment_of(*files: FileRow, terms: Terms | None = None, dimensions: int = DIMENSIONS) -> Segment:
    """A segment of the files, sorted by path."""
    return build(sorted(files, key=lambda file: file.path), terms or Terms(), dimensions)


def all_files(segment: Segment) -> Bools:
    """A mask that keeps every file."""
    return numpy.ones(len(segment.files), dtype=bool)


def assert_same(one: Segment, other: Segment) -> None:
    """Assert that two segments have equal arrays of equal types."""
    for name in ARRAYS:
        left, right = getattr(one, name), getattr(other, name)
        assert (left.dtype, left.shape) == (right.dtype, right.shape), name
        assert numpy.array_equal(left, right), name
    assert (one.paths, one.categories) == (other.paths, other.categories)


_TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
_VECTORS = st.one_of(
    st.just(()), st.lists(st.integers(-127, 127), min_size=DIMENSIONS, max_size=DIMENSIONS).map(tuple)
)
_CHUNKS = st.builds(
    chunk,
    _TEXTS,
    speaker=st.sampled_from(["", "user", "user Ann", "agent Bob Lee"]),
    date=st.sampled_from(["", "2026-01-05", "2026-02-16", "2025-12-31"]),
    heading=_TEXTS,
    about=_TEXTS,
    vector=_VECTORS,
)


@st.composite
def corpora(draw: st.DrawFn, *, most: int = 7) -> list[FileRow]:
    """Files with chunks of a few words, sorted by path."""
    contents = draw(st.lists(st.lists(_CHUNKS, min_size=1, max_size=6), max_size=most))
    categories = draw(
        st.lists(
            st.sampled_from(["reference", "conversation", "journal"]),
            min_size=len(contents),
            max_size=len(contents),
        )
    )
    return [
        FileRow(file.id, file.path, category, file.chunks)
        for file, category in zip(files_of(*contents), categories, strict=True)
    ]
