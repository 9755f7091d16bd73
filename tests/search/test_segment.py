"""The arrays are the same whether files are added at once or one by one."""

from __future__ import annotations

import json
from datetime import date

import apsw
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.resident.segment import WEIGHTS, FileRow, Segment, build, day_of, merged, speaker_of
from engine.search.resident.terms import Terms
from tests.cases import each_case
from tests.search.arrays import (
    DIMENSIONS,
    all_files,
    assert_same,
    chunk,
    corpora,
    files_of,
    segment_of,
)


def postings(segment: Segment, terms: Terms, word: str) -> dict[int, int]:
    """The chunks that contain a word, with its weighted count in fifths."""
    number = terms.numbers[terms.of(word)[0]]
    (places,) = numpy.nonzero(segment.terms == number)
    if not len(places):
        return {}
    start, end = segment.starts[places[0]], segment.starts[places[0] + 1]
    return dict(zip(segment.postings[start:end].tolist(), segment.counts[start:end].tolist(), strict=True))


def test_a_segment_contains_its_files() -> None:
    terms = Terms()
    segment = segment_of(
        *files_of(
            [
                chunk(
                    "heron heron", heading="trout", about="river heron", speaker="user Ann", date="2026-02-16"
                )
            ],
            [chunk("the trout", vector=[3, -4]), chunk(vector=[0, 0, 127])],
        ),
        terms=terms,
    )
    assert (len(segment), segment.paths, segment.categories) == (3, ("a", "b"), ("reference", "reference"))
    assert segment.chunks.tolist() == [1, 2, 3]
    assert segment.owners.tolist() == [0, 1, 1]
    assert segment.firsts.tolist() == [0, 1, 3]
    assert postings(segment, terms, "herons") == {0: 2 * WEIGHTS[0] + WEIGHTS[2]}
    assert postings(segment, terms, "trout") == {0: WEIGHTS[1], 1: WEIGHTS[0]}
    assert postings(segment, terms, "river") == {0: WEIGHTS[2]}
    assert postings(segment, terms, "absent") == {}
    assert segment.lengths.tolist() == [2 * WEIGHTS[0] + WEIGHTS[1] + 2 * WEIGHTS[2], 2 * WEIGHTS[0], 0]
    assert segment.days.tolist() == [date(2026, 2, 16).toordinal(), 0, 0]
    assert segment.speakers.tolist() == [terms.numbers[terms.of("ann")[0]], 0, 0]
    assert segment.scales.tolist() == pytest.approx([0, 0.2, 1 / 127])
    assert segment.vectors[1].tolist() == [3, -4] + [0] * (DIMENSIONS - 2)
    assert segment.bits[1].tolist() == [0b10000000, 0]
    assert segment.paths[segment.owners[2]] == "b"
    assert [segment.place_of(path) for path in ("a", "b", "", "aa", "c", "\ud800")] == [0, 1, *[None] * 4]


def test_terms_are_ascending_and_so_are_the_chunks_of_each() -> None:
    segment = segment_of(*files_of(*[[chunk("heron trout"), chunk("trout heron bread")]] * 5))
    assert (numpy.diff(segment.terms.astype(object)) > 0).all()
    assert segment.starts[0] == 0
    assert segment.starts[-1] == len(segment.postings) == len(segment.counts)
    for start, end in zip(segment.starts[:-1], segment.starts[1:], strict=True):
        assert start < end
        assert (numpy.diff(segment.postings[start:end]) > 0).all()


@pytest.mark.parametrize("dimensions", [0, DIMENSIONS, 192])
def test_a_segment_may_be_empty(dimensions: int) -> None:
    empty = build([], Terms(), dimensions)
    assert (len(empty), len(empty.files), len(empty.terms), len(empty.postings)) == (0, 0, 0, 0)
    assert empty.vectors.shape == (0, dimensions)
    assert empty.starts.tolist() == [0]
    assert empty.firsts.tolist() == [0]
    assert_same(merged([(empty, all_files(empty))]), empty)
    assert_same(merged([(empty, all_files(empty)), (empty, all_files(empty))]), empty)


def test_chunks_without_vectors_have_no_similarity() -> None:
    wrong = FileRow(1, "a", "reference", [chunk("x")])
    for files in ([wrong], files_of([chunk("x", vector=[0] * DIMENSIONS)])):
        segment = segment_of(*files)
        assert segment.scales.tolist() == [0]
        assert not segment.vectors.any()
    without = segment_of(*files_of([chunk("x", vector=[1, 2])]), dimensions=0)
    assert (without.vectors.shape, without.bits.shape, without.scales.tolist()) == ((1, 0), (1, 0), [0])
    another = segment_of(*files_of([chunk("x", vector=[1, 2])]), dimensions=8)
    assert (another.vectors.tolist(), another.scales.tolist()) == ([[0] * 8], [0])


def test_vectors_have_length_one() -> None:
    rows = [
        chunk("x", vector=[sign, *range(number, number + 9)]) for number in range(5) for sign in (-127, 127)
    ]
    segment = segment_of(*files_of(*[rows] * 20))
    lengths = numpy.linalg.norm(segment.vectors.astype(float), axis=1) * segment.scales
    assert numpy.allclose(lengths, 1, atol=1e-6)


def test_counts_and_lengths_are_capped() -> None:
    terms = Terms()
    segment = segment_of(
        *files_of([chunk("heron " * 51), chunk("heron " * 52 + "trout"), chunk("heron " * 20_000)]),
        terms=terms,
    )
    assert postings(segment, terms, "heron") == {0: 255, 1: 255, 2: 255}
    assert postings(segment, terms, "trout") == {1: 5}
    assert segment.lengths.tolist() == [255, 265, 65_535]


@each_case("day", ["", "2026-02-30", "yesterday", "2026", "0000-00-00", "\ud800", "9999-12-31"])
def test_an_invalid_date_is_no_day(day: str) -> None:
    assert day_of(day) == (date.max.toordinal() if day == "9999-12-31" else 0)


@each_case(
    ("speaker", "name"),
    [
        ("user Caroline", "caroline"),
        ("agent Mary Ann", "mary"),
        ("user O'Neil", "o"),
        ("user Ångström", "angstrom"),
        ("user", ""),
        ("", ""),
        ("user ", ""),
        ("user …", ""),
    ],
)
def test_a_speaker_is_identified_by_the_first_name(speaker: str, name: str) -> None:
    terms = Terms()
    expected = terms.numbers[terms.of(name)[0]] if name else 0
    assert speaker_of(speaker, terms) == expected


def test_equal_vectors_have_equal_marks_at_any_position() -> None:
    one = segment_of(*files_of([chunk("x", vector=[1, 2]), chunk("y", vector=[2, 1])]))
    other = segment_of(*files_of([chunk("z", vector=[2, 1])], [chunk("z", vector=[1, 2])]))
    assert one.marks.tolist() == other.marks.tolist()[::-1]
    assert one.marks[0] != one.marks[1]


@given(corpora(), st.data())
def test_merging_segments_equals_building_all_at_once(corpus: list[FileRow], data: st.DataObject) -> None:
    shared = Terms()
    parts: list[list[FileRow]] = [[] for _ in range(data.draw(st.integers(1, 4)))]
    for file in corpus:
        parts[data.draw(st.integers(0, len(parts) - 1))].append(file)
    segments = [build(part, shared, DIMENSIONS) for part in parts]
    # Another process with other words in another order builds the same.
    whole = build(corpus, Terms(), DIMENSIONS)
    assert_same(merged([(segment, all_files(segment)) for segment in segments]), whole)
    while len(segments) > 1:
        pair = segments[-2:]
        segments[-2:] = [merged([(segment, all_files(segment)) for segment in pair])]
    assert_same(segments[0], whole)


@given(corpora(), corpora(most=3), st.data())
def test_masked_files_are_dropped(corpus: list[FileRow], later: list[FileRow], data: st.DataObject) -> None:
    terms = Terms()
    first = build(corpus, terms, DIMENSIONS)
    keep = [data.draw(st.booleans()) for _ in corpus]
    # Later files may have the same paths; the earlier ones are then masked, as in a refresh.
    names = {file.path for file in later}
    keep = [kept and file.path not in names for kept, file in zip(keep, corpus, strict=True)]
    second = build(later, terms, DIMENSIONS)
    left = [file for file, kept in zip(corpus, keep, strict=True) if kept]
    expected = build(sorted([*left, *later], key=lambda file: file.path), Terms(), DIMENSIONS)
    masks = [(first, numpy.array(keep, dtype=bool)), (second, all_files(second))]
    assert_same(merged(masks), expected)
    assert_same(merged(masks[::-1]), expected)


def test_paths_are_sorted_as_by_the_database() -> None:
    names = ["b", "a/b", "a", "a-b", "a.b", "Z", "é", "e\u0301", "日", "\U00010000", "\uffff", "a b"]
    query = "SELECT value FROM json_each(?) ORDER BY value"
    rows = apsw.Connection(":memory:").execute(query, (json.dumps(names),))
    assert [name for (name,) in rows] == sorted(names)
