"""Equivalent knowledge is recognised; knowledge that differs in a relevant detail is kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.knowledge.category_files import CATEGORY_FILES, Entry, entries
from engine.knowledge.similarity import (
    READ,
    SAME,
    CachedVectors,
    SimilarEntries,
    difference,
    signs_of,
    similarity,
    vectors,
)
from tests.cases import each_case
from tests.knowledge.similarity_pairs import DIFFERENT, PARAPHRASES, UNSEEN_DIFFERENT, UNSEEN_PARAPHRASES

SAMPLE = Path("engine/sample/workspace/knowledge")


def entry(text: str, number: int = 1) -> Entry:
    return Entry("knowledge/facts.md", number, number, f"- {text}", (f"- {text}",), text, "", "", "")


def sample() -> list[Entry]:
    return [
        entry
        for file in CATEGORY_FILES
        for entry in entries((SAMPLE / file.path.rpartition("/")[2]).read_bytes(), file.path)
    ]


def score(item: str, there: str) -> float:
    first, second = vectors().embed([item, there])
    return similarity(signs_of(item), signs_of(there), float(first @ second))


def variants_of(text: str) -> list[str]:
    """Returns variants of a text: each digit changed in turn, and with a negation."""
    digits = [at for at, sign in enumerate(text) if sign.isdigit()]
    other = [f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}" for at in digits if text[at].isascii()]
    return [
        *other,
        f"It is not so that {text}",
        f"No longer: {text}",
        f"Never: {text}",
        f"{text} Without that.",
    ]


def test_the_threshold_separates_different_texts(capsys: pytest.CaptureFixture[str]) -> None:
    there = sample()
    variants = [(variant, each.text) for each in there for variant in variants_of(each.text)]
    index = SimilarEntries(there)
    sets = {
        "the same in other words": [max(score(one, two), score(two, one)) for one, two in PARAPHRASES],
        "written as different": [max(score(one, two), score(two, one)) for one, two in DIFFERENT],
        "the same, unseen": [max(score(one, two), score(two, one)) for one, two in UNSEEN_PARAPHRASES],
        "different, unseen": [max(score(one, two), score(two, one)) for one, two in UNSEEN_DIFFERENT],
        "lines of the sample": [
            similarity(signs_of(near.text), signs_of(each.text), cosine)
            for each in there
            for near, cosine in index.nearest(each.text)
            if near != each
        ],
        "one digit or a negation": [score(one, two) for one, two in variants],
    }
    thresholds = (0.5, 0.6, 0.7, 0.8, SAME, 0.9, 0.95)
    with capsys.disabled():
        print(
            f"\n{'taken as equal at a threshold of':32}{'pairs':>7}", *(f"{each:6.2f}" for each in thresholds)
        )
        for name, scores in sets.items():
            row = (f"{sum(each >= limit for each in scores):6}" for limit in thresholds)
            print(f"{name:32}{len(scores):7}", *row)
    taken = {name: sum(each >= SAME for each in scores) for name, scores in sets.items()}
    assert taken["the same in other words"] >= 26
    assert taken["the same, unseen"] >= 8 and taken["different, unseen"] == 0
    assert taken["written as different"] == taken["lines of the sample"] == 0
    assert taken["one digit or a negation"] == 0
    assert len(sets["lines of the sample"]) > 800 and len(variants) > 700


def test_a_line_of_the_sample_is_found_regardless_of_case_and_spacing() -> None:
    there = sample()
    index = SimilarEntries(there)
    for each in there:
        found = index.find(f"  {each.text.upper().rstrip('.')} ")
        assert found is not None and (found.entry.text, found.similarity) == (each.text, 1.0)


def test_the_most_similar_entry_is_found_with_its_similarity() -> None:
    index = SimilarEntries(
        [entry("Backups run at 02:00."), entry("Database backups are stored in Frankfurt.", 2)]
    )
    found = index.find("Backups of the database are stored in Frankfurt")
    assert found is not None and found.entry.number == 2 and SAME <= found.similarity < 1
    assert index.find("Backups of the database are stored in Paris") is None
    assert SimilarEntries([]).find("anything") is None


def test_added_entries_are_found() -> None:
    index = SimilarEntries([])
    index.add(entry("The build needs Node 20 and pnpm."))
    assert index.find("Building needs Node 20 and pnpm") is not None


@each_case(
    ("first", "second", "why"),
    [
        ("Port 8080", "Port 8081", "8080, 8081 differ"),
        ("It takes 3 h", "It takes 3 minutes", "3 h, 3 min differ"),
        ("It is 1,200 points", "It is 1200 points", ""),
        ("40GB of WAL", "40 GB of WAL", ""),
        ("It can't work", "It can work", "not differ"),
        ("db-1 feeds db-2", "db-2 feeds db-1", "the order of the names differ"),
        ("Eskil drives", "Marit drives", "only one of them names eskil"),
    ],
)
def test_the_difference_between_two_texts_is_named(first: str, second: str, why: str) -> None:
    assert difference(signs_of(first), signs_of(second)) == why


def test_encoded_data_is_compared_as_a_whole() -> None:
    key, other = ("The digest is " + "f0" * 900 + end for end in "ab")
    assert difference(signs_of(key), signs_of(other))
    assert not difference(signs_of(key), signs_of(f"{key}."))


def test_very_long_lines_match_only_exactly() -> None:
    long = "word " * 2_000 + "x" * 200_000
    index = SimilarEntries([entry(long)])
    assert index.find(long) is not None and index.find(f"{long} y") is None
    assert index.find(long[:READ]) is None


def test_a_text_is_embedded_once() -> None:
    embedded: list[str] = []

    def embed(texts: Sequence[str]) -> Any:
        embedded.extend(texts)
        return vectors().embed(texts)

    remembered = CachedVectors(embed)
    first = remembered.embed(["a b", "c d", "a b"])
    second = remembered.embed(["c d", "a b", "e f"])
    assert embedded == ["a b", "c d", "e f"]
    assert (first[[1, 0]] == second[:2]).all()


def test_texts_without_words_are_not_similar() -> None:
    assert SimilarEntries([entry("…"), entry("???")]).find("!!!") is None
    assert SimilarEntries([entry("")]).find("x y z") is None


@each_case(
    ("first", "second", "is_same"),
    [
        ("The API is called by the gateway.", "The gateway calls the API.", True),
        ("The API is called by the gateway.", "The API calls the gateway.", False),
        ("The report is written by Anna for Bob.", "Anna writes the report for Bob.", True),
        ("The report is written by Anna for Bob.", "Bob writes the report for Anna.", False),
        ("The parser feeds the lexer every night.", "The lexer feeds the parser every night.", False),
        ("The index is rebuilt by the worker.", "The worker is rebuilt by the index.", False),
        ("On the build server the tests use a mock.", "The tests use a mock on the build server.", True),
        ("From Paris the files go to London.", "From London the files go to Paris.", False),
        (
            "With the proxy the client trusts the broker.",
            "With the broker the client trusts the proxy.",
            False,
        ),
        ("The cache is cleared by hand on Monday.", "The cache is cleared by hand on Tuesday.", False),
    ],
)
def test_another_word_order_is_equal_only_if_the_grammar_allows_it(
    first: str, second: str, is_same: bool
) -> None:
    assert (max(score(first, second), score(second, first)) >= SAME) is is_same
