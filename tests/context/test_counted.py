"""Token counts cached on disk for later processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.context import counted, tokens
from engine.context.counted import Counted
from engine.store.user_folder import cache_folder

TEXT = "Ship it on Friday, after the review.\n" * 20


@pytest.fixture
def cache_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder() / counted.NAME


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
    monkeypatch.setattr(counted, "MOST", 3)
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
