"""Relevance is on the same scale for every query and every memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy
import pytest

from engine.search.ranking import (
    ALONE,
    CONTEXT,
    CONTEXT_TERMS,
    SAID_ENOUGH,
    Rarity,
    context_weights,
    relevance,
    shares,
)
from tests.search.arrays import chunk, files_of
from tests.search.test_ranking import Memory, memory_of, query


def terms(memory: Memory, words: str) -> list[int]:
    return list(query(memory, words).terms)


def word_shares(memory: Memory, words: str) -> list[float]:
    """The share of the words that each chunk contains."""
    found: list[float] = shares(*memory.table(), dict.fromkeys(terms(memory, words), 1.0)).tolist()
    return found


def memory(*texts: str) -> Memory:
    return memory_of(*files_of(*[[chunk(text)] for text in texts]))


def test_relevance_is_the_share_of_the_words() -> None:
    whole, half, none = word_shares(memory("heron trout", "heron bread", "river"), "heron trout")
    assert whole == pytest.approx(1.0)
    assert 0.4 < half < 0.6
    assert none == 0


def test_word_frequency_and_text_length_do_not_matter() -> None:
    once, often = word_shares(memory("heron", "heron heron " + "bread " * 50), "heron")
    assert once == often


def test_an_unknown_word_counts_as_missing() -> None:
    [found] = word_shares(memory("heron"), "heron walrus")
    assert 0.4 < found < 0.55


def test_common_words_alone_give_little_relevance() -> None:
    common = memory_of(*files_of([*[chunk("river")] * 400, chunk("heron")]))
    assert word_shares(common, "river")[0] < 0.1
    assert word_shares(common, "heron")[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1, 30])
def test_the_scale_is_the_same_in_a_small_memory(size: int) -> None:
    rows = [chunk("heron trout"), *[chunk("bread")] * (size - 1)]
    found = word_shares(memory_of(*files_of(rows)), "heron walrus")[0]
    assert 0.4 < found < 0.55


def test_words_and_vectors_count_equally_and_a_vector_alone_less() -> None:
    word_shares, cosines = numpy.array([0.6, 0.6, 0.0]), numpy.array([0.4, -0.4, 0.5])
    assert relevance(word_shares, cosines) == pytest.approx([0.5, 0.3, 0.5 * ALONE])
    assert relevance(word_shares, None) == pytest.approx(word_shares)


def test_the_context_counts_less_than_the_query_and_more_for_a_vague_query() -> None:
    texts = ("heron", "trout", "river", "bread", "Ann", *["the"] * 40)
    corpus = memory_of(*files_of([chunk(text) for text in texts]))
    _, statistics = corpus.table()
    known = [term for word in ("trout", "bread") for term in terms(corpus, word)]
    query_terms = terms(corpus, "heron river Ann")
    rich = context_weights(statistics, query_terms, known)
    poor = context_weights(statistics, query_terms[:1], known)
    nothing = context_weights(statistics, [], known)
    assert 0 < max(rich.values()) < max(poor.values()) <= max(nothing.values()) <= 1.0
    rarity = Rarity(statistics)
    total = sum(map(rarity.of, query_terms))
    assert sum(weight * rarity.of(term) for term, weight in rich.items()) == pytest.approx(CONTEXT * total)
    assert total > SAID_ENOUGH


def test_the_rarest_known_words_of_the_context_count() -> None:
    words = [f"w{number}" for number in range(30)]
    corpus = memory_of(*files_of([chunk(" ".join(words[number:])) for number in range(30)]))
    _, statistics = corpus.table()
    context = [term for word in (*words, "unknown") for term in terms(corpus, word)]
    chosen = context_weights(statistics, terms(corpus, "w0"), context)
    assert len(chosen) == CONTEXT_TERMS
    rarity = Rarity(statistics)
    least = min(map(rarity.of, chosen))
    left = [term for term in context if term not in chosen and statistics.holders(term)]
    assert all(rarity.of(term) <= least for term in left if term not in terms(corpus, "w0"))


def test_context_decides_between_tied_chunks() -> None:
    corpus = memory("heron by the river", "heron by the bread")

    def best(context: Sequence[int]) -> str:
        asked = query(corpus, "heron")
        about = context_weights(corpus.table()[1], list(asked.terms), context)
        asked = replace(asked, context=about, key_terms={**asked.key_terms, **about})
        return corpus.in_order(corpus.rank(asked))[0][0]

    assert best(terms(corpus, "river")) == "a"
    assert best(terms(corpus, "bread")) == "b"
