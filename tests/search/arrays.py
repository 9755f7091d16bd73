"""Hand-made chunks for the tests of the ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
from hypothesis import strategies as st

from engine.search.facts import facts_of, numbers_in
from engine.search.ranking import Found
from engine.search.table import Corpus, File, Row, Table, scales_of, table_of
from engine.search.terms import RUN, Terms

DIMENSIONS = 16
WORDS = ("heron", "trout", "river", "herons", "Ann", "bread", "café", "the")


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk."""

    id: int
    speaker: str
    date: str
    texts: tuple[str, str, str]  # text, heading, about
    vector: bytes


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file with its chunks, in order."""

    id: int
    path: str
    category: str
    chunks: Sequence[ChunkRow]


class FoundRow(NamedTuple):
    """One column of ``Found``."""

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


def rows(found: Found | None) -> list[FoundRow]:
    """The columns of ``found`` as rows."""
    if found is None:
        return []
    return [
        FoundRow(*row)
        for row in zip(
            found.places.tolist(),
            found.scores.tolist(),
            *found.shares.tolist(),
            found.lexical_ranks,
            found.vector_ranks,
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


def table(
    files: Sequence[FileRow], terms: Terms, among: Collection[str] | None = None
) -> tuple[Table, Corpus]:
    """All chunks as an engine loads them, or those of some files, and the statistics of all."""
    rows: list[Row] = []
    of_file: dict[int, File] = {}
    held: Counter[int] = Counter()
    turns: Counter[tuple[int, int]] = Counter()
    for number, file in enumerate(files):
        extent = 0
        for position, one in enumerate(file.chunks):
            text, heading, about = one.texts
            ((facts, _),) = facts_of(terms, [(one.speaker, one.date, heading, about, text)])
            rows.append(Row(one.id, number, position, *facts, one.vector))
            held.update(numbers_in(facts.terms))
            extent += facts.length
            turns[number, facts.name] += 1
        names = frozenset(row.name for row in rows if row.file == number and row.name)
        of_file[number] = File(file.path, file.category, extent, names)
    packed = numpy.frombuffer(b"".join(row.vector for row in rows), dtype=numpy.int8)
    vectors = packed.reshape(-1, DIMENSIONS).astype(numpy.float32)
    scales = scales_of(vectors)
    corpus = Corpus(
        len(rows),
        sum(row.length for row in rows),
        len(of_file),
        held,
        frozenset(name for (_, name), count in turns.items() if name and count >= 3),
        (vectors * scales[:, None])[scales > 0],
    )
    kept = [row for row in rows if among is None or of_file[row.file].path in among]
    return table_of(kept, of_file, DIMENSIONS), corpus


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


def term_numbers(known: Terms, text: str) -> list[int]:
    """The numbers of a text's terms in order, with repeats."""
    return [number for run in RUN.findall(text) for number in known.of(run).numbers]
