"""Equivalent knowledge is recognised; knowledge that differs in a relevant detail is kept apart."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from engine.knowledge.category_files import CATEGORY_FILES, Entry, entries
from engine.knowledge.similarity import (
    READ,
    SimilarEntries,
    difference,
    signs_of,
    similarity,
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


def is_same(one: str, other: str) -> bool:
    """Whether two texts are taken as equal, whichever is the new one."""
    return bool(similarity(signs_of(one), signs_of(other)) or similarity(signs_of(other), signs_of(one)))


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


def test_equal_and_different_texts_are_told_apart() -> None:
    there = sample()
    variants = [(variant, each.text) for each in there for variant in variants_of(each.text)]
    taken = {
        name: sum(is_same(*pair) for pair in pairs)
        for name, pairs in {
            "the same": PARAPHRASES,
            "different": DIFFERENT,
            "the same, unseen": UNSEEN_PARAPHRASES,
            "different, unseen": UNSEEN_DIFFERENT,
            "one digit or a negation": variants,
            "lines of the sample": list(combinations([each.text for each in there], 2)),
        }.items()
    }
    assert len(variants) > 700 and len(PARAPHRASES) == 30
    assert taken["the same"] >= 23 and taken["the same, unseen"] >= 6
    assert sum(taken[name] for name in taken if not name.startswith("the same")) == 0, taken


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
    assert found is not None and found.entry.number == 2 and 0.8 < found.similarity < 1
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


def test_texts_without_words_are_not_similar() -> None:
    assert SimilarEntries([entry("…"), entry("???")]).find("!!!") is None
    assert SimilarEntries([entry("")]).find("x y z") is None


@each_case(
    ("first", "second"),
    [
        ("The API is called by the gateway.", "The API calls the gateway."),
        ("The report is written by Anna for Bob.", "Bob writes the report for Anna."),
        ("The parser feeds the lexer every night.", "The lexer feeds the parser every night."),
        ("The index is rebuilt by the worker.", "The worker is rebuilt by the index."),
        ("From Paris the files go to London.", "From London the files go to Paris."),
        ("With the proxy the client trusts the broker.", "With the broker the client trusts the proxy."),
        ("The cache is cleared by hand on Monday.", "The cache is cleared by hand on Tuesday."),
    ],
)
def test_the_same_words_in_another_order_may_mean_something_else(first: str, second: str) -> None:
    assert not is_same(first, second)
