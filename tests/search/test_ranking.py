"""The ranking follows its rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.search import ranking
from engine.search.ranking import SHARES, Query
from engine.search.table import Corpus, Row, Table, table_of
from engine.search.terms import Terms
from tests.cases import each_case
from tests.search import reference
from tests.search.arrays import (
    DIMENSIONS,
    WORDS,
    FileRow,
    FoundRow,
    chunk,
    corpora,
    files_of,
    rows,
    table,
    term_numbers,
)
from tests.search.reference import FADING


@dataclass(frozen=True)
class Memory:
    """Files that are ranked whole."""

    terms: Terms
    files: tuple[FileRow, ...]

    def table(self, among: Collection[str] | None = None) -> tuple[Table, Corpus]:
        """The chunks of some files, and the statistics of all."""
        return table(self.files, self.terms, among)

    def rank(
        self, asked: Query, among: Collection[str] | None = None, used: Mapping[str, int] | None = None
    ) -> list[FoundRow]:
        """Rank as a search does."""
        chunks, corpus = self.table(among)
        return rows(ranking.rank(chunks, corpus, asked, used))

    def in_order(self, found: Sequence[FoundRow]) -> list[tuple[str, int]]:
        """Path and chunk of each row."""
        chunks, _ = self.table()
        return [(chunks.files[chunks.owners[one.place]].path, int(chunks.chunks[one.place])) for one in found]


def memory_of(*files: FileRow) -> Memory:
    """A memory of some files."""
    return Memory(Terms(), files)


def query(
    memory: Memory,
    words: str = "",
    *,
    vector: Sequence[float] | None = None,
    limit: int = 100,
    weights: tuple[float, float] = (1.0, 0.8),
    days: Sequence[tuple[date, date]] = (),
    today: date = date(2026, 2, 18),
    half_life: float = 30.0,
    with_ranks: bool = False,
) -> Query:
    """Build a ``Query`` from words."""
    numbers = list(dict.fromkeys(term_numbers(memory.terms, words)))
    asked = None
    if vector is not None:
        asked = numpy.zeros(DIMENSIONS, dtype=numpy.float32)
        asked[: len(vector)] = vector
        asked /= numpy.linalg.norm(asked)
    spans = [(first.toordinal(), last.toordinal()) for first, last in days]
    return Query(
        numbers,
        asked,
        limit,
        *weights,
        spans,
        today.toordinal(),
        half_life,
        with_ranks=with_ranks,
        key_terms=dict.fromkeys(numbers, 1.0),
    )


def scores(memory: Memory, asked: Query, **among: object) -> dict[int, FoundRow]:
    """The rows found, by chunk id."""
    found = memory.rank(asked, **among)  # type: ignore[arg-type]
    chunks, _ = memory.table(**among)  # type: ignore[arg-type]
    return {int(chunks.chunks[one.place]): one for one in found}


# Against the reference

HALF = settings(max_examples=settings().max_examples // 2)
"""Fewer examples than usual, because each is a whole memory."""


_QUERIES = st.lists(st.sampled_from([*WORDS, "absent", "Bob"]), max_size=4).map(" ".join)
_VECTORS = st.one_of(
    st.none(), st.lists(st.integers(-9, 9), min_size=DIMENSIONS, max_size=DIMENSIONS).filter(any)
)
_DAYS = st.lists(
    st.sampled_from([(date(2026, 2, 16), date(2026, 2, 16)), (date(2025, 12, 1), date(2026, 1, 31))]),
    max_size=2,
)


@HALF
@given(corpora(), _QUERIES, _VECTORS, _DAYS, st.sampled_from([0.0, 1.0, 30.0]), st.data())
def test_the_arrays_agree_with_the_reference(
    corpus: list[FileRow],
    words: str,
    vector: list[int] | None,
    days: list[tuple[date, date]],
    half_life: float,
    data: st.DataObject,
) -> None:
    memory = memory_of(*corpus)
    asked = query(memory, words, vector=vector, days=days, half_life=half_life)
    paths = [file.path for file in corpus]
    among = data.draw(st.one_of(st.none(), st.sets(st.sampled_from(paths)))) if paths else None
    used = {path: data.draw(st.sampled_from([0, 0, 1, 3, 7, 1000])) for path in paths}
    expected = reference.rank(corpus, asked, memory.terms, among=among, used=used)
    assume(_is_clear(corpus, asked))
    found = memory.rank(asked, among, used)
    chunks, _ = memory.table(among)
    by_row = {int(chunks.chunks[one.place]): one for one in found}
    wanted: dict[int, reference.Row] = {row.chunk.id: row for row in expected}
    for number in by_row.keys() ^ wanted.keys():  # Only rounding may add or drop a chunk.
        other = wanted.get(number)
        assert (other.total if other else by_row[number].score) < 1e-5
    for number in by_row.keys() & wanted.keys():
        one, row = by_row[number], wanted[number]
        for name in SHARES:
            assert getattr(one, name) == pytest.approx(row.shares[name], abs=2e-5), name
        assert one.score == pytest.approx(row.total, abs=5e-5)
        assert one.score == pytest.approx(sum(getattr(one, name) for name in SHARES), abs=2e-6)
        assert (one.lexical_rank, one.vector_rank) == (None, None)
    shown = [one.score for one in found]
    assert [round(score, 6) for score in shown] == sorted((round(score, 6) for score in shown), reverse=True)


def _is_clear(corpus: Sequence[FileRow], asked: Query) -> bool:
    """Whether the vectors distinguish chunks; noise divided by its own deviation has no right answer."""
    if asked.vector is None:
        return True
    rows = [
        numpy.frombuffer(row.vector, dtype=numpy.int8)
        for file in corpus
        for row in file.chunks
        if any(row.vector)
    ]
    cosines = [float(row @ asked.vector) / float(numpy.linalg.norm(row.astype(float))) for row in rows]
    return not cosines or float(numpy.std(cosines)) == 0 or float(numpy.std(cosines)) > 1e-3


@HALF
@given(corpora(), _QUERIES, _VECTORS, st.integers(1, 6))
def test_fewer_results_are_the_first_of_more(
    corpus: list[FileRow], words: str, vector: list[int] | None, limit: int
) -> None:
    memory = memory_of(*corpus)
    few = memory.rank(query(memory, words, vector=vector, limit=limit))
    many = memory.rank(query(memory, words, vector=vector, limit=500))
    assert few == many[:limit]


# Words


def test_word_scores_are_bm25() -> None:
    memory = memory_of(
        *files_of([chunk("heron trout"), chunk("heron " * 3 + "bread " * 9)], [chunk("bread"), chunk("")])
    )
    found = ranking.scores_of(*memory.table(), query(memory, "heron trout absent").key_terms)
    # By hand: 4 chunks of 2, 12, 1 and 0 words, 3.75 on average; heron in 2, trout in 1 of them.
    heron, trout = numpy.log(1 + 2.5 / 2.5), numpy.log(1 + 3.5 / 1.5)
    short, long = (ranking.K1 * (1 - ranking.B + ranking.B * words / 3.75) for words in (2, 12))
    most = ranking.K1 + 1
    expected = [most * (heron + trout) / (1 + short), most * heron * 3 / (3 + long), 0, 0]
    assert found.tolist() == pytest.approx(expected)


def test_words_of_headings_and_extra_terms_count_by_their_weights() -> None:
    memory = memory_of(*files_of([chunk("heron")], [chunk(heading="heron")], [chunk(about="heron")]))
    found = ranking.scores_of(*memory.table(), query(memory, "heron").key_terms)
    assert found[0] == found[2] > found[1] > 0


@pytest.mark.parametrize("words", ["", "absent", "ABSENT nowhere"])
def test_a_query_without_known_words_finds_nothing(words: str) -> None:
    memory = memory_of(*files_of([chunk("heron", vector=[1, 2])]))
    assert memory.rank(query(memory, words)) == []
    assert memory_of().rank(query(memory, words, vector=[1])) == []


# Meaning


def test_meaning_is_the_deviation_from_the_mean_similarity() -> None:
    rows = [chunk("x", vector=[100, 0]), *(chunk("x", vector=[1, 100]) for _ in range(8)), chunk("heron")]
    memory = memory_of(*files_of(*[[row] for row in rows]))
    found = scores(memory, query(memory, "", vector=[1, 0]))
    assert list(found) == [1]
    cosines = numpy.array([1.0, *[1 / numpy.sqrt(10_001)] * 8])
    above = (1 - cosines.mean()) / cosines.std()
    assert found[1].meaning == pytest.approx(0.8 * above / 6, rel=1e-5)
    assert found[1].words == 0


def test_the_weights_of_the_query_scale_the_shares() -> None:
    files = files_of(
        *[[chunk("heron", vector=[100, number])] for number in range(4)], [chunk("x", vector=[0, 9])]
    )
    memory = memory_of(*files)
    whole = scores(memory, query(memory, "heron", vector=[1, 0], weights=(1.0, 1.0)))
    other = scores(memory, query(memory, "heron", vector=[1, 0], weights=(0.5, 0.25)))
    for number, one in other.items():
        assert one.words == pytest.approx(whole[number].words / 2)
        assert one.meaning == pytest.approx(whole[number].meaning / 4)


def test_chunks_without_a_vector_are_ranked_by_their_words() -> None:
    memory = memory_of(
        *files_of([chunk("heron")], [chunk("trout", vector=[1, 2])], [chunk("x", vector=[2, 1])])
    )
    found = scores(memory, query(memory, "heron trout", vector=[1, 2]))
    assert found[1].meaning == 0
    assert found[1].words > 0
    assert found[2].meaning > 0


def test_identical_vectors_have_no_share() -> None:
    memory = memory_of(*files_of(*[[chunk("heron", vector=[3, 4])]] * 5))
    assert {one.meaning for one in memory.rank(query(memory, "heron", vector=[3, 4]))} <= {0.0}


# Neighbours, file, speaker, date, age and use


def lone(place: int, *, size: int = 9) -> list[FileRow]:
    """A file with the word in one chunk, between files without it."""
    row = [chunk("heron" if number == place else "bread") for number in range(size)]
    other = [chunk("bread")] * 4
    return files_of(other, row, other)


@each_case("place", [0, 1, 4, 7, 8])
def test_neighbours_are_in_the_same_file(place: int) -> None:
    memory = memory_of(*lone(place))
    found = scores(memory, query(memory, "heron"))
    assert set(found) == set(range(5, 14))
    for number in range(9):
        away = abs(number - place)
        own = found[5 + place].words
        expected = own * (0.0, *ranking.NEIGHBOURS)[away] if away <= 3 else 0.0
        assert found[5 + number].neighbours == pytest.approx(expected)
        assert found[5 + number].words == (own if away == 0 else 0.0)
        assert found[5 + number].session == pytest.approx(ranking.SESSION * (own / 3 + ranking.WHOLE))


def test_the_best_chunks_of_a_file_boost_all_its_chunks() -> None:
    files = files_of(
        [chunk("heron heron"), chunk("heron"), chunk("heron trout"), chunk("heron bread the"), chunk("x")]
    )
    memory = memory_of(*files, *files_of([chunk("y")], names="b"))
    found = scores(memory, query(memory, "heron"))
    best = sorted((one.words for one in found.values()), reverse=True)[:3]
    assert len(found) == 5
    for one in found.values():
        assert one.session == pytest.approx(ranking.SESSION * (sum(best) / 3 + ranking.WHOLE))


def test_missing_chunks_of_a_small_file_count_as_zero() -> None:
    memory = memory_of(*files_of([chunk("heron")], [chunk("bread")]))
    (one,) = memory.rank(query(memory, "heron"))
    assert one.session == pytest.approx(ranking.SESSION * (one.words / 3 + ranking.WHOLE))
    assert one.score == pytest.approx(one.words + one.session)


def test_a_named_speaker_is_boosted_and_conversations_without_them_count_less() -> None:
    memory = memory_of(
        *files_of(
            [*[chunk("heron", speaker="user Caroline")] * 3, chunk("heron", speaker="agent Mel")],
            [chunk("heron", speaker="user")],
            [chunk("heron")],
        )
    )
    for words in ("heron caroline", "Caroline's HERONS"):
        found = scores(memory, query(memory, words))
        lifted = [one.speaker / one.words for _, one in sorted(found.items())]
        named, absent = ranking.SPEAKER - 1, ranking.ABSENT - 1
        # A user without a name is the owner, whose turns always count a little more.
        person = ranking.PERSON * ranking.ABSENT - 1
        assert lifted == pytest.approx([named, named, named, 0, person, absent])
    unnamed = scores(memory, query(memory, "heron user agent"))
    assert [one.speaker > 0 for _, one in sorted(unnamed.items())] == [False] * 4 + [True, False]


def test_a_word_before_a_colon_is_not_a_speaker() -> None:
    memory = memory_of(*files_of([chunk("heron", speaker="agent Note"), chunk("heron")], [chunk("heron")]))
    found = scores(memory, query(memory, "heron note"))
    assert {one.speaker for one in found.values()} == {0.0}


def test_the_name_of_a_speaker_weighs_less_than_the_other_words() -> None:
    turns = [chunk("ann hello", speaker="user Ann")] * 3
    memory = memory_of(*files_of([*turns, chunk("a heron", speaker="user Ann")]))
    found = scores(memory, query(memory, "ann heron"))
    assert found[4].words > 2 * found[1].words > 0


def test_chunks_of_the_queried_days_are_boosted() -> None:
    days = ["2026-02-15", "2026-02-16", "2026-02-17", "2026-02-18", ""]
    memory = memory_of(*files_of(*[[chunk("heron", date=day)] for day in days]))
    span = (date(2026, 2, 16), date(2026, 2, 17))
    found = scores(memory, query(memory, "heron", days=[span]))
    assert [found[number].date > 0 for number in range(1, 6)] == [False, True, True, False, False]
    assert found[2].date == pytest.approx(0.3 * found[2].words)
    twice = scores(memory, query(memory, "heron", days=[span, span]))
    assert twice[2].date == found[2].date


def test_speaker_and_date_boosts_multiply() -> None:
    turns = [chunk("heron", speaker="user Ann", date="2026-02-16")] * 3
    memory = memory_of(*files_of(turns, [chunk("x")]))
    day = date(2026, 2, 16)
    one = memory.rank(query(memory, "heron ann", days=[(day, day)]))[0]
    assert one.speaker == pytest.approx(0.3 * one.words)
    assert one.date == pytest.approx(0.3 * 1.3 * one.words)
    own = 1.3 * 1.3 * one.words
    assert one.session == pytest.approx(ranking.SESSION * (own + ranking.WHOLE))


@each_case("category", ["conversation", "journal", "reference", "person", "memory"])
@each_case(
    ("day", "lost"),
    [
        ("2026-02-18", 0.0),
        ("2026-01-19", 0.05),
        ("2025-12-20", 0.075),
        ("1990-01-01", 0.1),
        ("2027-01-01", 0.0),
    ],
)
def test_old_conversations_and_journals_are_ranked_a_little_lower(
    category: str, day: str, lost: float
) -> None:
    memory = memory_of(*files_of([chunk("heron", date=day)], [chunk("x")], category=category))
    (one,) = memory.rank(query(memory, "heron"))
    whole = one.words + one.session
    fades = category in FADING
    assert one.recency == pytest.approx(-lost * whole if fades else 0.0, abs=1e-6)
    assert one.score == pytest.approx(whole + one.recency)
    (other,) = memory.rank(query(memory, "heron", half_life=0))
    assert other.recency == 0


def test_undated_text_has_no_recency_penalty() -> None:
    memory = memory_of(*files_of([chunk("heron")], [chunk("x")], category="journal"))
    (one,) = memory.rank(query(memory, "heron"))
    assert one.recency == 0


@each_case(("times", "gain"), [(0, 0.0), (1, 0.1), (3, 0.2), (7, 0.3), (8, 0.3), (10**6, 0.3)])
def test_past_use_boosts_up_to_a_maximum(times: int, gain: float) -> None:
    memory = memory_of(*files_of([chunk("heron")], [chunk("heron")]))
    first, second = memory.rank(query(memory, "heron"), used={"b": times})
    is_first = memory.in_order([first])[0][0] == "b"
    one, other = (first, second) if is_first else (second, first)
    assert one.use == pytest.approx(gain * (one.words + one.session), abs=1e-6)
    assert other.use == 0


# Ranks and selection


def test_ranks_are_by_words_alone_and_by_meaning_alone() -> None:
    rows = [
        chunk("heron heron trout", vector=[9, 1]),
        chunk("heron", vector=[1, 9]),
        chunk("heron", vector=[9, 2]),
        chunk("bread", vector=[-9, 1]),
        chunk("trout " * 20),
        chunk("bread"),
    ]
    memory = memory_of(*files_of(rows, [chunk("bread", vector=[1, -9])] * 3))
    found = scores(memory, query(memory, "heron trout", vector=[1, 0], with_ranks=True))
    by_words = {number: one.words for number, one in found.items()}
    for number, one in found.items():
        above = sum(value > by_words[number] for value in by_words.values())
        assert one.lexical_rank == (above + 1 if by_words[number] else None)
    assert [found[number].vector_rank for number in (1, 3, 2)] == [1, 2, 3]
    assert found[5].vector_rank is None
    assert found[2].lexical_rank == found[3].lexical_rank
    only = memory.rank(query(memory, "heron trout", vector=[1, 0], with_ranks=True), among={"a"})
    assert min(one.lexical_rank or 99 for one in only) == 1
    without = memory.rank(query(memory, "heron", with_ranks=True))
    assert {one.vector_rank for one in without} == {None}


def test_chunks_without_a_vector_have_no_vector_rank() -> None:
    rows = [chunk("heron", vector=[1, 0]), chunk("heron"), chunk("heron", vector=[-1, 1]), chunk("heron")]
    memory = memory_of(*files_of(*[[row] for row in rows]))
    found = scores(memory, query(memory, "heron", vector=[1, 0], with_ranks=True))
    assert {number: one.vector_rank for number, one in found.items()} == {1: 1, 2: None, 3: 2, 4: None}


def test_scores_that_differ_only_by_rounding_are_tied() -> None:
    older = files_of([chunk("heron", date="2026-02-15")], category="journal")
    newer = files_of([chunk("heron", date="2026-02-18", id=9)], category="journal", names="b")
    memory = memory_of(*older, *newer)
    asked = query(memory, "heron", weights=(1.5, 0.8), half_life=1e7)
    found = memory.rank(asked)
    assert len(found) == 2
    assert found[0].recency != found[1].recency
    assert found[0].score == found[1].score
    assert memory.in_order(found)[0][0] == "a"


def test_ranks_count_only_the_allowed_files() -> None:
    memory = memory_of(*files_of([chunk("heron heron")], [chunk("heron bread")], [chunk("heron bread the")]))
    found = memory.rank(query(memory, "heron", with_ranks=True), among={"b", "c"})
    assert [one.lexical_rank for one in found] == [1, 2]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=40),
)
def test_the_best_chunks_of_each_file_are_averaged(rows: list[tuple[int, int]]) -> None:
    owners = numpy.array([owner for owner, _ in rows])
    own = numpy.array([value for _, value in rows], dtype=numpy.float32)
    found = ranking._session_means(owners, own)
    for (owner, _), value in zip(rows, found.tolist(), strict=True):
        best = sorted((each for other, each in rows if other == owner), reverse=True)[:3]
        assert value == pytest.approx(sum(best) / 3)


def test_ties_are_ordered_by_path_and_line() -> None:
    memory = memory_of(*reversed(files_of(*[[chunk("heron", vector=[3, 4])] * 2] * 9)))
    found = memory.rank(query(memory, "heron", vector=[1, 0], limit=5))
    assert memory.in_order(found) == [("a", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 5)]


def test_a_neighbour_that_is_not_ranked_is_no_neighbour() -> None:
    memory = memory_of(*files_of([chunk("heron"), chunk("bread"), chunk("heron"), chunk("bread")]))
    whole, corpus = memory.table()
    rows = [
        Row(at, 0, at, 5, 5, 0, 0, 0, 0, whole.terms[at : at + 1].tobytes(), b"\x05", b"") for at in (0, 3)
    ]
    found = ranking.rank(table_of(rows, {0: whole.files[0]}, 0), corpus, query(memory, "heron"))
    assert found is not None
    around = found.shares[SHARES.index("neighbours")]
    assert around.tolist() == pytest.approx([0, ranking.NEIGHBOURS[2] * found.shares[0].max()])
