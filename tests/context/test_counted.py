"""Counts of tokens that one process leaves to the next."""

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
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_folder() / counted.NAME


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were really counted."""
    texts: list[str] = []
    count = tokens._counter()

    def counting() -> Callable[[str], int]:
        return lambda text: texts.append(text) or count(text)  # type: ignore[func-returns-value]

    monkeypatch.setattr(tokens, "_counter", counting)
    tokens._cache.clear()
    return texts


def one_process(*texts: str) -> list[int]:
    tokens._cache.clear()
    with tokens.remembering():
        return [tokens.count(text) for text in texts]


def test_a_text_is_counted_once_for_all_processes(place: Path, loaded: list[str]) -> None:
    texts = (TEXT, "", "short", "half a \ud800 pair", TEXT[:-40])
    tokens._cache.clear()
    without = [tokens.count(text) for text in texts]
    assert not place.exists()
    loaded.clear()
    assert one_process(*texts) == without
    assert len(loaded) >= len(texts)
    loaded.clear()
    assert one_process(*reversed(texts)) == without[::-1]
    assert loaded == []
    assert one_process("new") == [tokens.count("new")]
    assert place.stat().st_mode & 0o777 == 0o600
    assert b"Ship" not in place.read_bytes()


def test_nothing_is_written_where_nothing_is_new(place: Path, loaded: list[str]) -> None:
    one_process(TEXT)
    before = place.stat().st_mtime_ns, place.stat().st_ino
    one_process(TEXT)
    assert (place.stat().st_mtime_ns, place.stat().st_ino) == before


def test_a_damaged_file_or_one_of_others_is_not_used(place: Path, loaded: list[str]) -> None:
    right = one_process(TEXT, "short")
    whole = place.read_bytes()
    changed = bytearray(whole)
    changed[-1] ^= 1
    for odd in (b"", whole[:-1], whole[:20], bytes(changed), whole + bytes(20), b"o200k 0\n" + whole[8:]):
        place.write_bytes(odd)
        loaded.clear()
        assert one_process(TEXT, "short") == right
        assert len(loaded) == 2
    place.chmod(0o666)
    loaded.clear()
    assert one_process(TEXT, "short") == right
    assert len(loaded) == 2


def test_a_link_is_not_followed_and_a_folder_that_cannot_be_written_does_no_harm(
    place: Path, loaded: list[str], tmp_path: Path
) -> None:
    right = one_process(TEXT)
    place.rename(tmp_path / "other")
    place.symlink_to(tmp_path / "other")
    loaded.clear()
    assert one_process(TEXT) == right
    assert loaded == [TEXT]
    place.unlink(missing_ok=True)
    os.rmdir(place.parent)
    place.parent.write_text("in the way")
    assert one_process(TEXT) == right


def test_the_texts_asked_about_last_stay(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
