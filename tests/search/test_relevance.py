"""Relevance says whether anything answers at all, on one scale for every query and every memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy
import pytest

from engine.search.resident.ranking import rank
from engine.search.resident.relevance import (
    ALONE,
    CONTEXT,
    CONTEXT_TERMS,
    SAID_ENOUGH,
    Rarity,
    context_weights,
    relevance,
    shares,
)
from engine.search.resident.segment import Part
from tests.search.arrays import chunk, files_of, rows
from tests.search.test_ranking import Memory, memory_of, query


def parts_of(memory: Memory) -> list[Part]:
    return [Part(segment, None, None) for segment in memory.segments]


def terms(memory: Memory, words: str) -> list[int]:
    return list(query(memory, words).terms)


def held(memory: Memory, words: str) -> list[float]:
    """The share of the words that each chunk holds."""
    everywhere = [numpy.arange(len(segment)) for segment in memory.segments]
    found = shares(parts_of(memory), dict.fromkeys(terms(memory, words), 1.0), everywhere)
    return [float(each) for part in found for each in part]


def memory(*texts: str) -> Memory:
    return memory_of(*files_of(*[[chunk(text)] for text in texts]))


def test_all_words_are_a_whole_and_half_of_them_a_half() -> None:
    whole, half, none = held(memory("heron trout", "heron bread", "river"), "heron trout")
    assert whole == pytest.approx(1.0)
    assert 0.4 < half < 0.6
    assert none == 0


def test_how_often_and_how_long_does_not_matter() -> None:
    once, often = held(memory("heron", "heron heron " + "bread " * 50), "heron")
    assert once == often


def test_a_word_that_nobody_ever_said_is_missing() -> None:
    [found] = held(memory("heron"), "heron walrus")
    assert 0.4 < found < 0.55


def test_a_query_of_common_words_alone_asks_for_little() -> None:
    common = memory_of(*files_of([*[chunk("river")] * 400, chunk("heron")]))
    assert held(common, "river")[0] < 0.1
    assert held(common, "heron")[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1, 30])
def test_the_scale_is_the_same_in_a_small_memory(size: int) -> None:
    rows = [chunk("heron trout"), *[chunk("bread")] * (size - 1)]
    found = held(memory_of(*files_of(rows)), "heron walrus")[0]
    assert 0.4 < found < 0.55


def test_words_and_vectors_count_alike_and_a_vector_alone_less() -> None:
    held, cosines = numpy.array([0.6, 0.6, 0.0]), numpy.array([0.4, -0.4, 0.5])
    assert relevance(held, cosines) == pytest.approx([0.5, 0.3, 0.5 * ALONE])
    assert relevance(held, None) == pytest.approx(held)


def test_the_context_counts_less_than_the_query_and_fills_in_where_that_says_little() -> None:
    texts = ("heron", "trout", "river", "bread", "Ann", *["the"] * 40)
    whole = memory_of(*files_of([chunk(text) for text in texts]))
    known = [term for word in ("trout", "bread") for term in terms(whole, word)]
    said = terms(whole, "heron river Ann")
    rich = context_weights(parts_of(whole), said, known)
    poor = context_weights(parts_of(whole), said[:1], known)
    nothing = context_weights(parts_of(whole), [], known)
    assert 0 < max(rich.values()) < max(poor.values()) <= max(nothing.values()) <= 1.0
    rarity = Rarity(parts_of(whole))
    total = sum(map(rarity.of, said))
    assert sum(weight * rarity.of(term) for term, weight in rich.items()) == pytest.approx(CONTEXT * total)
    assert total > SAID_ENOUGH


def test_of_the_context_the_rarest_known_words_count() -> None:
    words = [f"w{number}" for number in range(30)]
    whole = memory_of(*files_of([chunk(" ".join(words[number:])) for number in range(30)]))
    context = [term for word in (*words, "unknown") for term in terms(whole, word)]
    chosen = context_weights(parts_of(whole), terms(whole, "w0"), context)
    assert len(chosen) == CONTEXT_TERMS
    rarity = Rarity(parts_of(whole))
    least = min(map(rarity.of, chosen))
    left = [term for term in context if term not in chosen and rarity.holders(term)]
    assert all(rarity.of(term) <= least for term in left if term not in terms(whole, "w0"))


def test_context_moves_what_the_query_leaves_open() -> None:
    whole = memory("heron by the river", "heron by the bread")

    def best(context: Sequence[int]) -> str:
        asked = query(whole, "heron")
        parts = parts_of(whole)
        about = context_weights(parts, list(asked.terms), context)
        asked = replace(asked, context=about, key_terms={**asked.key_terms, **about})
        found = rows(rank(parts, numpy.zeros((0, 0), dtype=numpy.float32), asked))
        return whole.named(found)[0][0]

    assert best(terms(whole, "river")) == "a"
    assert best(terms(whole, "bread")) == "b"
