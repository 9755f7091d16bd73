"""Token counts are exact, cheap and never fail; text is cut at natural boundaries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context import tokens
from engine.context.tokens import Counted
from engine.store.user_folder import cache_folder
from tests.cases import each_case

KNOWN = [
    ("", 0),
    ("hello world", 2),
    ("<|endoftext|>", 7),
    ("a\0b", 3),
    ("tiktoken is great!", 6),
    ("日本語のテキスト", 6),
]

TEXT = "Ship it on Friday, after the review.\n" * 20


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


@pytest.fixture
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder() / tokens.NAME


@pytest.fixture
def counted_texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were actually counted."""
    texts: list[str] = []
    count = tokens._counter()

    def counting() -> Callable[[str], int]:
        return lambda text: texts.append(text) or count(text)  # type: ignore[func-returns-value]

    monkeypatch.setattr(tokens, "_counter", counting)
    tokens._cache.clear()
    return texts


def count_in_new_process(*texts: str) -> list[int]:
    tokens._cache.clear()
    with tokens.remembering():
        return [tokens.count(text) for text in texts]


def test_a_text_is_counted_once_for_all_processes(cache_file: Path, counted_texts: list[str]) -> None:
    texts = (TEXT, "", "short", "half a \ud800 pair", TEXT[:-40])
    tokens._cache.clear()
    without = [tokens.count(text) for text in texts]
    assert not cache_file.exists()
    counted_texts.clear()
    assert count_in_new_process(*texts) == without
    assert len(counted_texts) >= len(texts)
    counted_texts.clear()
    assert count_in_new_process(*reversed(texts)) == without[::-1]
    assert counted_texts == []
    assert count_in_new_process("new") == [tokens.count("new")]
    assert cache_file.stat().st_mode & 0o777 == 0o600
    assert b"Ship" not in cache_file.read_bytes()


def test_nothing_is_written_without_new_counts(cache_file: Path, counted_texts: list[str]) -> None:
    count_in_new_process(TEXT)
    before = cache_file.stat().st_mtime_ns, cache_file.stat().st_ino
    count_in_new_process(TEXT)
    assert (cache_file.stat().st_mtime_ns, cache_file.stat().st_ino) == before


def test_a_damaged_or_foreign_file_is_not_used(cache_file: Path, counted_texts: list[str]) -> None:
    right = count_in_new_process(TEXT, "short")
    whole = cache_file.read_bytes()
    changed = bytearray(whole)
    changed[-1] ^= 1
    for odd in (b"", whole[:-1], whole[:20], bytes(changed), whole + bytes(20), b"o200k 0\n" + whole[8:]):
        cache_file.write_bytes(odd)
        counted_texts.clear()
        assert count_in_new_process(TEXT, "short") == right
        assert len(counted_texts) == 2
    cache_file.chmod(0o666)
    counted_texts.clear()
    assert count_in_new_process(TEXT, "short") == right
    assert len(counted_texts) == 2


def test_a_symlink_is_not_followed_and_an_unwritable_folder_is_tolerated(
    cache_file: Path, counted_texts: list[str], tmp_path: Path
) -> None:
    right = count_in_new_process(TEXT)
    cache_file.rename(tmp_path / "other")
    cache_file.symlink_to(tmp_path / "other")
    counted_texts.clear()
    assert count_in_new_process(TEXT) == right
    assert counted_texts == [TEXT]
    cache_file.unlink(missing_ok=True)
    os.rmdir(cache_file.parent)
    cache_file.parent.write_text("in the way")
    assert count_in_new_process(TEXT) == right


def test_the_most_recently_used_counts_are_kept(cache_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MOST", 3)
    first = Counted()
    for number in range(3):
        first.add(str(number), number)
    first.keep()
    second = Counted()
    assert second.get("2") == 2 and second.get("7") is None
    second.add("7", 7)
    second.keep()
    third = Counted()
    assert (third.get("7"), third.get("2"), third.get("1")) == (7, 2, None)
