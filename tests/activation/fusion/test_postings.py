"""The n-gram and word indexes follow their formulas."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy
import pytest

from engine.activation.fusion import postings
from engine.activation.fusion.postings import (
    BM25_B,
    BM25_K1,
    codes_in,
    codes_of,
    count_grams,
    gathered,
    index_grams,
    index_words,
    places_in,
)

TEXTS: tuple[list[str], ...] = (
    ["my", "order", "is", "late"],
    ["late", "late", "order"],
    [],
    ["order", "退款"],
)


def grams(words: list[str]) -> Counter[str]:
    """The n-grams of a text, as a reference implementation."""
    found: Counter[str] = Counter()
    for word in words:
        found[word] += 1
        framed = f" {word} "
        for size in (3, 4, 5):
            for start in range(len(framed) - size + 1):
                found[f"#{framed[start : start + size]}"] += 1
    for first, second in pairwise(words):
        found[f"{first} {second}"] += 1
    return found


def code(term: str) -> int:
    return int(codes_of([term], 1)[0])


def test_grams_of_a_word() -> None:
    assert set(codes_in("ab").tolist()) == {code(gram) for gram in ("ab", "# ab", "#ab ", "# ab ")}
    assert len(codes_in("x" * 40)) == 118


@pytest.mark.parametrize("block", [1, 3, 1_000])
def test_grams_are_counted_text_by_text(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "_BLOCK", block)
    rows, codes, counts = count_grams(TEXTS)
    assert [values.dtype for values in (rows, codes, counts)] == ["int32", "uint32", "float32"]
    assert numpy.all(numpy.diff(rows) >= 0)
    for row, words in enumerate(TEXTS):
        mine = rows == row
        found = dict(zip(codes[mine].tolist(), counts[mine].tolist(), strict=True))
        assert found == {code(gram): count for gram, count in grams(words).items()}


def postings_of(index: dict[str, Any]) -> dict[int, dict[int, float]]:
    """The weight of each n-gram, by row."""
    terms = numpy.repeat(index["grams"], numpy.diff(index["offsets"]))
    by_row: dict[int, dict[int, float]] = {}
    for term, row, weight in zip(
        terms.tolist(), index["rows"].tolist(), index["weights"].tolist(), strict=True
    ):
        by_row.setdefault(row, {})[term] = weight
    return by_row


def test_weights_are_sublinear_tfidf_of_length_1() -> None:
    found = postings_of(index_grams(TEXTS))
    counted = [grams(words) for words in TEXTS]
    for row, counts in enumerate(counted):
        weights = {
            code(gram): (1 + math.log(count))
            * (1 + math.log((1 + len(TEXTS)) / (1 + sum(gram in other for other in counted))))
            for gram, count in counts.items()
        }
        length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        assert found.get(row, {}) == pytest.approx(
            {term: w / length for term, w in weights.items()}, rel=1e-5
        )


def test_a_frequent_gram_keeps_its_heaviest_postings(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [["late", *(f"w{number}" for number in range(count))] for count in (9, 0, 5, 0, 7)]
    whole = postings_of(index_grams(texts))
    monkeypatch.setattr(postings, "POSTINGS_LIMIT", 2)
    cut_index = index_grams(texts)
    cut = postings_of(cut_index)
    assert numpy.diff(cut_index["offsets"]).max() == 2
    late = code("late")
    assert {row for row, terms in cut.items() if late in terms} == {1, 3}
    assert all(whole[row][term] == weight for row, terms in cut.items() for term, weight in terms.items())


def test_gathered_postings_are_grouped_by_term() -> None:
    offsets = numpy.array([0, 2, 2, 5], dtype=numpy.int32)
    columns = numpy.array([10, 11, 20, 21, 22]), numpy.array([1.0, 1.5, 2.0, 2.5, 3.0])
    sizes, (first, second) = gathered(offsets, numpy.array([2, 1, 0]), *columns)
    assert sizes.tolist() == [3, 0, 2]
    assert first.tolist() == [20, 21, 22, 10, 11]
    assert second.tolist() == [2.0, 2.5, 3.0, 1.0, 1.5]
    _, (nothing,) = gathered(offsets, numpy.zeros(0, dtype=numpy.int64), columns[0])
    assert nothing.tolist() == []


def test_codes_are_located() -> None:
    known = numpy.array([3, 7, 4_000_000_000], dtype=numpy.uint32)
    codes = numpy.array([4_000_000_000, 5, 3, 4_294_967_295], dtype=numpy.uint32)
    places, is_known = places_in(known, codes)
    assert places.tolist() == [2, 0]
    assert is_known.tolist() == [True, False, True, False]
    places, is_known = places_in(known[:0], codes)
    assert (places.tolist(), is_known.tolist()) == ([], [False] * 4)


def test_words_have_bm25_weights() -> None:
    documents = [Counter(["late", "late", "order"]), Counter(["order", "refund"]), Counter[str]()]
    entries = [["late", "late"], ["order", "unknown"], []]
    index = index_words(documents, entries)
    mean = 5 / 3
    for word in ("late", "order", "refund"):
        place = index["words"].tolist().index(code(word))
        frequency = sum(word in document for document in documents)
        idf = math.log(1 + (3 - frequency + 0.5) / (frequency + 0.5))
        assert index["word_idf"][place] == pytest.approx(idf)
        expected = {}
        for topic, document in enumerate(documents):
            if word in document:
                size = sum(document.values())
                damped = document[word] + BM25_K1 * (1 - BM25_B + BM25_B * size / mean)
                expected[topic] = idf * document[word] * (BM25_K1 + 1) / damped
        mine = slice(*index["word_offsets"][place : place + 2].tolist())
        topics, weights = index["word_topics"][mine].tolist(), index["word_weights"][mine].tolist()
        assert dict(zip(topics, weights, strict=True)) == pytest.approx(expected, rel=1e-5)
    assert index["entry_words"].tolist() == [1, 2, 0]
    late, order = (index["words"].tolist().index(code(word)) for word in ("late", "order"))
    starts = index["word_entry_offsets"]
    assert index["word_entries"][starts[late] : starts[late + 1]].tolist() == [0]
    assert index["word_entries"][starts[order] : starts[order + 1]].tolist() == [1]


@pytest.mark.parametrize("count", [0, 2])
def test_an_index_of_empty_texts_is_empty(count: int) -> None:
    index = index_grams([[]] * count) | index_words([Counter()] * count, [[]] * count)
    assert {name: len(values) for name, values in index.items() if len(values)} == {
        "offsets": 1,
        "word_offsets": 1,
        "word_entry_offsets": 1,
        **({"entry_words": count} if count else {}),
    }
