"""Word pieces are found as in a dictionary of all lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.meaning.pieces import Pieces
from engine.meaning.vectors import DATA

SIGNS = st.text("ab#é退\r\u2028\0", max_size=6)


@given(lines=st.lists(SIGNS, min_size=1, max_size=30), others=st.lists(SIGNS, max_size=10))
def test_every_line_is_found_and_nothing_else(lines: list[str], others: list[str]) -> None:
    expected = {line: row for row, line in enumerate(lines) if line}
    pieces = Pieces("\n".join(lines).encode())
    assert len(pieces) == len(lines)
    for sought in (*lines, *others, *(line[:2] for line in lines), "", "#", "##", "###"):
        assert pieces.get(sought) == expected.get(sought)


def test_the_shipped_pieces() -> None:
    data = (DATA / "pieces.txt").read_bytes()
    lines = data.decode().split("\n")
    pieces = Pieces(data)
    assert len(pieces) == len(lines)
    assert [pieces.get(line) for line in lines if line] == [row for row, line in enumerate(lines) if line]
    assert {pieces.get(f"{line}\n") for line in lines} == {None}


def test_a_text_that_is_no_text_has_no_pieces() -> None:
    pieces = Pieces(b"a\nb")
    assert pieces.get("\ud800") is None
    assert pieces.get("a\nb") is None
    with pytest.raises(UnicodeDecodeError):
        Pieces(b"a\n\xff")
