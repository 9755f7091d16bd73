"""Words are split into pieces as with a dictionary of all lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.meaning.pieces import Pieces
from engine.meaning.vectors import DATA

SIGNS = "abé退\r\u2028\0"


def naive_pieces(word: str, rows: dict[str, int]) -> tuple[int, ...]:
    """The rows of the longest pieces from left to right, computed naively."""
    found: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            row = rows.get(f"##{word[start:end]}" if start else word[:end])
            if row is not None:
                found.append(row)
                start = end
                break
        else:
            return ()
    return tuple(found)


@given(
    lines=st.lists(st.text(f"{SIGNS}#", max_size=6), min_size=1, max_size=30),
    words=st.lists(st.text(SIGNS, max_size=6), max_size=10),
)
def test_words_are_split_into_the_longest_pieces(lines: list[str], words: list[str]) -> None:
    rows = {line: row for row, line in enumerate(lines) if line}
    pieces = Pieces("\n".join(lines).encode())
    assert len(pieces) == len(lines)
    for word in (
        *words,
        *(line.replace("#", "") for line in lines),
        *map("".join, zip(words, lines, strict=False)),
    ):
        word = word.replace("#", "")
        assert pieces.split(word) == naive_pieces(word, rows)


def test_the_shipped_pieces_split_known_words() -> None:
    data = (DATA / "pieces.txt").read_bytes()
    lines = data.decode().split("\n")
    pieces = Pieces(data)
    assert len(pieces) == len(lines)
    begins = {line: row for row, line in enumerate(lines) if line and not line.startswith("#")}
    assert all(pieces.split(line) == (row,) for line, row in begins.items() if len(line) <= 20)
    assert {pieces.split(f"{line}\n") for line in begins} == {()}


def test_invalid_text_has_no_pieces() -> None:
    pieces = Pieces(b"a\nb")
    assert pieces.split("\ud800") == pieces.split("a\nb") == ()
    with pytest.raises(UnicodeDecodeError):
        Pieces(b"a\n\xff")
