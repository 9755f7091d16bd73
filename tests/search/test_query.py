"""A query is always looked up as plain words, whatever it contains."""

from __future__ import annotations

from typing import cast

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search.query import MAX_TERMS, STOP_WORDS, literal_terms, words
from engine.search.scripts import searchable
from engine.search.sqlite import expression
from engine.search.state import Word
from tests.cases import each_case


@pytest.fixture(scope="module")
def connection() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize='porter unicode61')")
    connection.execute("INSERT INTO t VALUES ('the plan for c is in a text')")
    return connection


@each_case(
    ("query", "terms"),
    [
        ("What did we decide about the migration plan?", ("decide", "migration", "plan")),
        ("don't", ("don", "t")),
        ("c++ and C#", ("c",)),
        ("2026-02-16", ("2026", "02", "16")),
        ("knowledge/facts.md", ("knowledge", "facts", "md")),
        ("Plan PLAN plan", ("plan",)),
        ('"exact" NEAR(a b) text:x -y ^z*', ("exact", "near", "b", "text", "x", "y", "z")),
        ("Müller größer", ("müller", "größer")),
        ("日本語 テスト", ("日本", "本語", "テス", "スト")),
        ("用Python写 猫", ("用", "python", "写", "猫")),
        ("ภาษาไทย", ("ภา", "าษ", "ษา", "าไ", "ไท", "ทย")),
        ("हिन्दी שָׁלוֹם كِتَاب", ("हिन्दी", "שָׁלוֹם", "كِتَاب")),
        ("what is it", ("what", "is", "it")),
        ("", ()),
        ("?!… \0 \ud800 🙂", ()),
    ],
)
def test_a_query_is_reduced_to_its_significant_words(query: str, terms: tuple[str, ...]) -> None:
    assert literal_terms(query) == terms


def test_a_long_text_gives_words_from_both_ends() -> None:
    terms = literal_terms(" ".join(f"word{number}" for number in range(1000)))
    assert len(terms) == MAX_TERMS
    assert terms[0] == "word0"
    assert terms[-1] == "word999"


def test_a_huge_text_is_read_at_both_ends_only() -> None:
    terms = literal_terms("first " + "x" * 10_000_000 + " last")
    assert terms == ("first", "last")


def test_stop_words_are_words() -> None:
    assert all(words(word) == [word] for word in STOP_WORDS)


@given(st.text())
def test_any_text_gives_a_valid_match_expression(connection: apsw.Connection, text: str) -> None:
    terms = literal_terms(text)
    if terms:
        asked = expression([Word(searchable(term, asked=True), 1) for term in terms])
        connection.execute("SELECT rowid FROM t WHERE t MATCH ?", (asked,)).fetchall()


@given(st.text(st.characters(max_codepoint=0x24F, exclude_categories=["Cs"])))
def test_words_are_split_as_by_the_index(connection: apsw.Connection, text: str) -> None:
    tokenizer = connection.fts5_tokenizer("unicode61", ["remove_diacritics", "0"])
    data = text.encode()
    found = cast(
        "list[tuple[int, int, str]]",
        tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False),
    )
    cut = [data[start:end].decode().lower() for start, end, _ in found]
    assert words(text) == cut
