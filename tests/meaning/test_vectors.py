"""The static vectors: tokens, pieces, pairs, and files that cannot be used."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import AutopoiesisError
from engine.meaning.text import CHARACTERS_READ
from engine.meaning.vectors import (
    DATA,
    LONGEST,
    TOKENS_READ,
    Pieces,
    TokenVectors,
    rows_of,
    rows_of_many,
    splitter,
    tokens_of,
)
from tests.cases import each_case

PIECES = ("[UNK]", "deploy", "##ment", "##ing", "re", "##fund", "退", "!", "")

SIGNS = "abé退\r\u2028\0"


def pieces_of(*lines: str) -> Pieces:
    return Pieces("\n".join(lines).encode())


def folder_with(folder: Path, *, pairs: int = 4, pieces: tuple[str, ...] = PIECES, seed: int = 0) -> Path:
    """Write small two-dimensional vectors for pieces and pairs to ``folder``."""
    random = numpy.random.RandomState(seed)
    rows = len(pieces) + pairs
    folder.mkdir(exist_ok=True)
    numpy.save(folder / "vectors.npy", random.randint(-127, 128, size=(rows, 2)).astype(numpy.int8))
    numpy.save(folder / "scales.npy", random.uniform(0.1, 1, size=rows).astype(numpy.float16))
    (folder / "pieces.txt").write_text("\n".join(pieces))
    return folder


@each_case(
    ("text", "expected"),
    [
        ("Deploy v2!", ["deploy", "v", "2", "!"]),
        ("Café  ÀÉ", ["cafe", "ae"]),
        ("退款", ["退", "款"]),
        ("\ud800", ["\ud800"]),
        ("", []),
    ],
)
def test_texts_are_split_into_tokens(text: str, expected: list[str]) -> None:
    assert tokens_of(text) == expected


def test_tokens_are_limited_in_number_and_length() -> None:
    found = tokens_of(" ".join(f"{letter}{'x' * 300}" for letter in "abcdefghij" * 100))
    assert len(found) <= TOKENS_READ
    assert max(map(len, found)) == 100
    found = tokens_of("start " + "word " * 100_000 + "end")
    assert (found[0], found[-1], len(found)) == ("start", "end", TOKENS_READ)


def test_a_run_of_combining_marks_takes_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = unicodedata.normalize

    def counting(form: Any, text: str) -> str:
        sizes.append(len(text))
        return original(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counting)
    assert tokens_of("e\u0301\u0323" * 70_000)[0] == "e" * 100
    assert max(sizes) <= 1_000
    assert sum(sizes) <= CHARACTERS_READ + 1


def test_words_are_split_into_the_longest_pieces_they_begin_with() -> None:
    pieces = pieces_of(*PIECES)
    assert rows_of(["deployment"], splitter(pieces), 9, 0) == [1, 2]
    assert rows_of(["refund", "!"], splitter(pieces), 9, 0) == [4, 5, 7]
    assert rows_of(["refunded", "deploy"], splitter(pieces), 9, 0) == [1]
    assert rows_of(["款"], splitter(pieces), 9, 0) == []


def test_a_long_word_is_split_to_its_end() -> None:
    assert rows_of(["x" * 100], splitter(pieces_of("x", "##x")), 2, 0) == [0, *[1] * 99]


def test_pairs_of_words_have_their_own_rows() -> None:
    pieces = pieces_of("a", "b", "!")
    rows = rows_of(["a", "!", "b"], splitter(pieces), 3, 1_000)
    assert rows[:3] == [0, 2, 1]
    assert len(rows) == 6  # begin–a, a–b, b–end: punctuation does not count.
    assert all(3 <= row < 1_003 for row in rows[3:])
    assert rows_of(["a", "b"], splitter(pieces), 3, 1_000)[2:] == rows[3:]
    assert len(rows_of(["a"], splitter(pieces), 3, 1_000)) == 3
    assert rows_of(["!"], splitter(pieces), 3, 1_000) == [2]
    assert rows_of(["b", "a"], splitter(pieces), 3, 1_000)[2:] != rows[3:]


@given(st.lists(st.text(st.sampled_from("ab! 1é款\ud800"), max_size=130).map(tokens_of), max_size=5))
def test_many_texts_have_the_rows_of_each(texts: list[list[str]]) -> None:
    for pairs in (0, 1_000_003):
        known = (splitter(pieces_of("a", "b", "!", "##a")), 4, pairs)
        assert rows_of_many(texts, *known) == [rows_of(tokens, *known) for tokens in texts]


def test_a_text_is_the_sum_of_its_pieces_and_pairs(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "made")
    found = TokenVectors(folder)
    table = numpy.load(folder / "vectors.npy") * numpy.load(folder / "scales.npy").astype(float)[:, None]
    pieces = pieces_of(*PIECES)
    rows = rows_of(["deployment", "refund"], splitter(pieces), len(PIECES), 4)
    assert len(rows) == 7
    total = table[rows].sum(axis=0)
    (vector, nothing) = found.embed(["Deployment refund", "…"])
    assert vector == pytest.approx(total / numpy.linalg.norm(total), abs=1e-5)
    assert nothing.tolist() == [0, 0]
    assert found.embed([]).shape == (0, 2)
    assert found.embed(["deploy"]).dtype == "float32"
    assert found.dimensions == 2


def test_other_vectors_of_the_same_shape_are_another_version(tmp_path: Path) -> None:
    first, again, other = (
        TokenVectors(folder_with(tmp_path / str(number), seed=seed)).version
        for number, seed in enumerate((0, 0, 1))
    )
    assert first == again != other


def test_unusable_files_are_named(tmp_path: Path) -> None:
    def unusable(folder: Path) -> None:
        with pytest.raises(AutopoiesisError) as raised:
            TokenVectors(folder)
        assert raised.value.where == str(folder)
        assert "reinstall" in raised.value.hint

    unusable(tmp_path / "missing")
    for name in ("vectors.npy", "scales.npy", "pieces.txt"):
        folder = folder_with(tmp_path / f"without {name}")
        (folder / name).unlink()
        unusable(folder)
    for name in ("vectors.npy", "scales.npy"):
        for length in (0, 20, -1):
            folder = folder_with(tmp_path / f"cut {name} {length}")
            (folder / name).write_bytes((folder / name).read_bytes()[:length])
            unusable(folder)
    folder = folder_with(tmp_path / "not text")
    (folder / "pieces.txt").write_bytes(b"\xff\xfe")
    unusable(folder)
    folder = folder_with(tmp_path / "too few")
    numpy.save(folder / "scales.npy", numpy.ones(3, dtype=numpy.float16))
    unusable(folder)
    folder = folder_with(tmp_path / "too many pieces")
    (folder / "pieces.txt").write_text("\n".join(map(str, range(100))))
    unusable(folder)


def test_the_shipped_vectors_work() -> None:
    pieces = (DATA / "pieces.txt").read_text("utf-8").split("\n")
    assert max(len(piece.removeprefix("##")) for piece in pieces) <= LONGEST
    shipped = TokenVectors()
    near, same, far = shipped.embed(["where is my parcel", "has my package shipped", "play some jazz music"])
    assert float(near @ same) > float(near @ far) + 0.2
    assert numpy.allclose(numpy.linalg.norm([near, same, far], axis=1), 1, atol=1e-4)


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
