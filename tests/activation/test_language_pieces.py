"""How a text divides among languages, and the table that says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.activation import language_pieces
from engine.activation.language_pieces import known, shares
from engine.errors import AutopoiesisError
from tests.cases import each_case


@pytest.fixture
def own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table that a test may damage."""
    path = tmp_path / "pieces.bin"
    path.write_bytes(language_pieces._PATH.read_bytes())
    monkeypatch.setattr(language_pieces, "_PATH", path)
    language_pieces._table.cache_clear()
    yield path
    language_pieces._table.cache_clear()


@each_case(
    ("text", "language"),
    [
        ("prikaži sve alarme", "hr"),
        ("disattiva la sveglia", "it"),
        ("Alle Wecker anzeigen", "de"),
        ("ALLE WECKER ANZEIGEN", "de"),
        ("Мұны тексере аласың ба", "kk"),
    ],
)
def test_the_pieces_tell_what_function_words_do_not(text: str, language: str) -> None:
    found = shares(text)
    assert max(found, key=lambda code: found[code]) == language
    assert found.keys() == known()


@given(st.text(max_size=40))
def test_shares_are_parts_of_one(text: str) -> None:
    found = shares(text)
    assert not found or sum(found.values()) == pytest.approx(1)
    assert all(0 <= share <= 1 for share in found.values())
    assert found == shares(text)


def test_a_text_without_pieces_belongs_to_nobody() -> None:
    assert shares("") == shares("\ud800") == {}


def test_where_the_table_comes_from_is_told_in_it() -> None:
    head = language_pieces._PATH.read_bytes().split(b"\n", 1)[0].decode()
    assert "py3langid" in head
    assert "BSD 3-Clause" in head


@pytest.mark.parametrize("damage", ["missing", "cut", "garbage", "empty"])
def test_a_damaged_table_is_named(own_table: Path, damage: str) -> None:
    data = own_table.read_bytes()
    if damage == "missing":
        own_table.unlink()
    else:
        own_table.write_bytes({"cut": data[:-500], "garbage": b"\x00\n\x00", "empty": b""}[damage])
    with pytest.raises(AutopoiesisError, match="table of languages cannot be read"):
        shares("Alle Wecker anzeigen")
