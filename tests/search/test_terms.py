"""Texts are tokenized in memory exactly as by FTS5, and a term has the same number everywhere."""

from __future__ import annotations

import subprocess
import sys
from typing import cast

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.search import schema, terms
from engine.search.scripts import searchable
from engine.search.terms import Terms
from tests.cases import each_case
from tests.search.arrays import term_numbers

_TOKENIZER = apsw.Connection(":memory:").fts5_tokenizer(*schema.TOKENIZER)

ODD = (
    "café CAFE\u0301 naïve ﬁne Straße ΕΛΛΆΔΑ İstanbul ǅ",
    "日本語 テスト 한국어 ไทย हिन्दी עברית العربية",
    "a\u0301\u0301b \u0301start x\u200by z\u00adz \u2028line \u0085next",
    "don't c++ 2026-02-16 snake_case kebab-case a.b@c 1,000.5 #tag",
    "running runs runner relational conditional hopping caresses ponies",
    "𝔘𝔫𝔦 🙂🙂 \ud800 lone \udfff \0 nul \uffff \U0010ffff \ue000private",
    "x" * 70 + "ing " + "é" * 200 + "s " + "y" * 40_000,
    "",
)


def by_fts5(text: str) -> list[str]:
    """The terms that ``chunk_words`` gets from the whole text."""
    data = searchable(text).encode("utf-8", "replace")
    found = _TOKENIZER(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
    return [term for _, _, term in cast("list[tuple[int, int, str]]", found)]


def tokenize(known: Terms, text: str) -> list[str]:
    """The terms of a text according to ``Terms``."""
    numbers = term_numbers(known, text)
    names = {terms.number_of(term): term for term in by_fts5(text)}
    return [names[number] for number in numbers]


@each_case("text", ODD)
def test_odd_texts_are_tokenized_as_by_fts5(text: str) -> None:
    assert tokenize(Terms(), text) == by_fts5(text)


def test_the_tokenizer_is_that_of_the_table() -> None:
    connection = apsw.Connection(":memory:")
    schema.create(connection)
    (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'chunk_words'").fetchone() or (
        "",
    )
    name, arguments = schema.TOKENIZER
    assert f"tokenize='{' '.join([name, *arguments])}'" in str(sql)


_KNOWN = Terms()
_SIGNS = st.one_of(
    st.characters(),
    st.sampled_from(
        [*"aeizAEIZ09_'-. \n\t\0", "\u0301", "\u0345", "\u200d", "\u00aa", "\u2028", "ß", "İ", "\ud800"]
    ),
)


@given(st.text(_SIGNS, max_size=60))
def test_any_text_is_tokenized_as_by_fts5(text: str) -> None:
    assert tokenize(_KNOWN, text) == by_fts5(text)


@given(st.lists(st.text(_SIGNS, max_size=12), max_size=12))
def test_earlier_texts_do_not_affect_tokenization(texts: list[str]) -> None:
    known = Terms()
    for text in texts:
        assert tokenize(known, text) == by_fts5(text)
    for text in reversed(texts):
        assert term_numbers(known, text) == term_numbers(_KNOWN, text)


def test_every_character_is_tokenized_as_by_fts5() -> None:
    # Each character alone, inside a word and after a mark; 500 at a time, one text per line. Only a fifth
    # of the characters beyond the alphabets in use is tested.
    for start in (*range(0, 0x3000, 500), *range(0x3000, 0x30000, 2_500)):
        characters = [chr(code) for code in range(start, start + 500) if not 0xD800 <= code < 0xE000]
        text = "\n".join(f"{sign} a{sign}b {sign}\u0301{sign}" for sign in characters)
        assert tokenize(Terms(), text) == by_fts5(text), hex(start)


def test_evicted_runs_are_tokenized_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_MOST_RUNS", 3)
    known = Terms()
    texts = [f"first{number} second{number} again" for number in range(20)]
    places = [term_numbers(known, text) for text in texts]
    assert [term_numbers(known, text) for text in texts] == places
    assert len(known._known) <= 4


def test_a_term_has_the_same_number_in_every_process() -> None:
    text = "The migrations of café 日本語 and 2026"
    program = (
        "from engine.search.terms import Terms\n"
        "from tests.search.arrays import term_numbers\n"
        f"terms = Terms()\nterm_numbers(terms, 'other words first')\nprint(term_numbers(terms, {text!r}))"
    )
    done = [
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin", "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    ]
    numbers = term_numbers(Terms(), text)
    assert done == [f"{numbers}\n"] * 2
    # The numbers are also stored in files, so they must never change.
    assert numbers[1] == 3685769118
