"""Token counts are exact, cheap and never fail; text is cut at natural boundaries."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context import tokens
from tests.cases import each_case

KNOWN = [
    ("", 0),
    ("hello world", 2),
    ("<|endoftext|>", 7),
    ("a\0b", 3),
    ("tiktoken is great!", 6),
    ("日本語のテキスト", 6),
]


@each_case(("text", "expected"), KNOWN)
def test_counts_match_o200k(text: str, expected: int) -> None:
    assert tokens.count(text) == expected


def test_a_lone_surrogate_counts_as_the_question_mark_sent_for_it() -> None:
    assert tokens.count("a \ud800 b") == tokens.count("a ? b")
    assert tokens.count("\udcff" * 1000) == tokens.count("?" * 1000)


def test_a_cached_count_equals_the_real_one() -> None:
    text = "The build server keeps a warm cache per branch.\n" * 40
    assert tokens.count(text) == tokens.count(text) == tokens._count(text)
    assert tokens.count(text + "x") != tokens.count(text)


def test_without_rs_bpe_the_counts_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for text, _ in KNOWN] + ["Größe — 12:30 {x}\n\n  def f(): pass\r\n\t…", "👍🏽 ok"]
    usual = [tokens.count(text) for text in texts]
    pytest.importorskip("bpe_openai")
    monkeypatch.setitem(sys.modules, "rs_bpe", None)
    tokens._counter.cache_clear()
    try:
        assert tokens._counter().__module__ == "engine.context.tokens"
        assert [tokens._count(text) for text in texts] == usual
    finally:
        tokens._counter.cache_clear()


@given(st.text(max_size=80), st.text(max_size=80))
def test_counts_of_parts_starting_with_a_delimiter_add_up(above: str, below: str) -> None:
    for start in ("<!-- a -->\n", "{rag-context}\n", "{/rag-context}\n\n"):
        whole = tokens.count(f"{above}\n{start}{below}")
        assert whole == tokens.count(f"{above}\n") + tokens.count(f"{start}{below}")


def test_fit_returns_a_text_that_fits_unchanged() -> None:
    assert tokens.fit("one\ntwo\n", 100) == "one\ntwo\n"


def test_fit_ends_at_a_line_end() -> None:
    text = "\n".join(f"- entry {number} of the list" for number in range(50))
    kept = tokens.fit(text, 60)
    assert text.startswith(kept + "\n")
    assert 40 < tokens.count(kept) <= 60


def test_fit_ends_at_a_sentence_when_lines_are_long() -> None:
    text = "# Title\n" + "This sentence has exactly seven words here. " * 40
    kept = tokens.fit(text, 50)
    assert kept.endswith("here.")
    assert 25 <= tokens.count(kept) <= 50


def test_fit_ends_at_a_word_when_there_are_no_sentences() -> None:
    kept = tokens.fit("word " * 500, 20)
    assert kept.endswith("word")
    assert 15 <= tokens.count(kept) <= 20


@each_case("text", ["word", "x" * 5000, "一" * 3000])
def test_fit_is_empty_when_nothing_fits(text: str) -> None:
    assert tokens.fit(text, 0) == ""
    assert tokens.fit(text, -5) == ""
    assert tokens.count(tokens.fit(text, 1)) <= 1


@given(st.text(alphabet="ab .!?\n\t日é\ud800\0<-", max_size=400), st.integers(0, 60))
def test_fit_returns_a_prefix_within_the_limit(text: str, limit: int) -> None:
    kept = tokens.fit(text, limit)
    assert text.startswith(kept)
    assert tokens.count(kept) <= limit
