"""Scores by words and by meaning are merged into one ranking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.fusion import Candidate, merge


def order(*candidates: Candidate, weights: tuple[float, float] = (0.4, 0.6)) -> list[int]:
    return [one.chunk for one, _ in merge(candidates, *weights)]


def test_both_scores_count_by_their_weights() -> None:
    lexical_match = Candidate(1, "a.md", 1, bm25=8.0, cosine=0.1)
    vector_match = Candidate(2, "b.md", 1, bm25=1.0, cosine=0.9)
    assert order(lexical_match, vector_match, weights=(0.4, 0.6)) == [2, 1]
    assert order(lexical_match, vector_match, weights=(0.9, 0.1)) == [1, 2]
    (_, best), (_, second) = merge([lexical_match, vector_match], 0.4, 0.6)
    assert best == pytest.approx(0.4 / 8 + 0.6 * 0.9)
    assert second == pytest.approx(0.4 + 0.6 * 0.1)


def test_a_score_does_not_depend_on_the_other_candidates() -> None:
    near = Candidate(1, "a.md", 1, bm25=4.0, cosine=0.8)
    far = Candidate(2, "b.md", 1, bm25=1.0, cosine=0.1)
    alone, together = merge([near], 0.4, 0.6)[0], merge([near, far], 0.4, 0.6)[0]
    assert alone[1] == together[1]


def test_without_vectors_the_score_is_that_by_words() -> None:
    ranked = merge([Candidate(1, "a.md", 1, bm25=2.0), Candidate(2, "b.md", 1, bm25=4.0)], 0.4, 0.6)
    assert [(one.chunk, score) for one, score in ranked] == [(2, 1.0), (1, 0.5)]


def test_ties_are_ordered_by_path_then_line() -> None:
    assert order(
        Candidate(1, "b.md", 3, bm25=1.0, cosine=0.5),
        Candidate(2, "a.md", 9, bm25=1.0, cosine=0.5),
        Candidate(3, "b.md", 2, bm25=1.0, cosine=0.5),
    ) == [2, 3, 1]


def test_no_candidates_merge_to_no_results() -> None:
    assert merge([], 0.4, 0.6) == []


@given(
    st.lists(st.tuples(st.floats(0, 50), st.one_of(st.none(), st.floats(-1, 1))), max_size=12),
    st.floats(0, 5),
    st.floats(0, 5),
)
def test_scores_are_between_0_and_1_and_independent_of_input_order(
    scores: list[tuple[float, float | None]], lexical: float, vector: float
) -> None:
    candidates = [
        Candidate(number, f"{number % 3}.md", number, bm25=bm25, cosine=cosine)
        for number, (bm25, cosine) in enumerate(scores)
    ]
    ranked = merge(candidates, lexical, vector)
    assert all(0 <= score <= 1 for _, score in ranked)
    assert merge(reversed(candidates), lexical, vector) == ranked
