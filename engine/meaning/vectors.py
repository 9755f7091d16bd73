"""Static vectors of word pieces and word pairs that ship with the product and need no network.

They were distilled from a sentence transformer (see ``data/README.md``): a text's vector is the sum of the
vectors of its pieces and pairs, which approximates the transformer in microseconds. The table is
memory-mapped, so that a process that handles one message reads only the rows it needs.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from engine.errors import AutopoiesisError
from engine.meaning.text import ends_of, normalised
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

DATA = Path(__file__).parent / "data"
TOKENS_READ = 256
"""Tokens of a text that are read: half from its start and half from its end if it has more."""

_LONGEST = 100
_TOKENS_KEPT = 50_000
_PAIRS_KEPT = 100_000
_MANY = 8
"""Texts from which hashing their pairs at once is faster."""
_PRIME = numpy.uint32(16777619)
_TOKEN = expression(r"[a-z]+|[0-9]+|[^\sa-z0-9]")
_NON_ASCII = expression(r"[^\x00-\x7f]+")

_INNER = b"##"
"""Prefix of a piece that continues a word."""
LONGEST = 20
"""Maximum length of a piece in bytes."""


class TokenVectors:
    """The shipped vectors.

    Args:
        folder: Contains ``vectors.npy`` (int8 ``[rows, dimensions]``), ``scales.npy`` (float16 ``[rows]``)
            and ``pieces.txt``. Row ``i`` is the piece on line ``i``; the remaining rows are for pairs of
            words, by hash.

    Attributes:
        version: Identifies the vectors.

    Raises:
        AutopoiesisError: The files cannot be read, or do not match.
    """

    def __init__(self, folder: Path = DATA) -> None:
        try:
            self._rows = numpy.load(folder / "vectors.npy", mmap_mode="r").view(numpy.ndarray)
            self._scales = numpy.load(folder / "scales.npy")
            pieces = Pieces((folder / "pieces.txt").read_bytes())
            if (
                self._rows.ndim != 2
                or self._scales.shape != self._rows.shape[:1]
                or len(pieces) > len(self._rows)
            ):
                raise ValueError("the files do not match")
        except (OSError, EOFError, ValueError) as error:
            raise AutopoiesisError(
                f"the vectors of tier 2 cannot be read ({error})",
                where=str(folder),
                hint="reinstall autopoiesis",
            ) from error
        # Retrained vectors have different scales, and reading all vectors would take longer than scoring.
        self.version = f"{self._rows.shape}-{zlib.crc32(self._scales.tobytes()):08x}"
        self._split = splitter(pieces)
        self._first_pair = len(pieces)
        self._pairs = len(self._rows) - len(pieces)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._rows.shape[1])

    def embed(self, texts: Sequence[str]) -> Floats:
        """Embed texts as float32 ``[len(texts), dimensions]``, rows of length 1, or zeros without words."""
        vectors = numpy.zeros((len(texts), self.dimensions), dtype=numpy.float32)
        tokens = list(map(tokens_of, texts))
        known = (self._split, self._first_pair, self._pairs)
        found = (
            [rows_of(each, *known) for each in tokens]
            if len(tokens) < _MANY
            else rows_of_many(tokens, *known)
        )
        for index, rows in enumerate(found):
            if rows:
                total = self._sum(rows)
                length = float(numpy.sqrt(total @ total))
                if length > 0:
                    vectors[index] = total / length
        return vectors

    def _sum(self, rows: Sequence[int]) -> Floats:
        scales = self._scales[rows].astype(numpy.float32)
        total: Floats = scales @ self._rows[rows].astype(numpy.float32)
        return total


Split = Callable[[str], tuple[int, ...]]
"""Maps a token to the rows of its pieces."""


def splitter(pieces: Pieces) -> Split:
    """A function that splits tokens into pieces, cached because texts repeat their words."""
    return lru_cache(maxsize=_TOKENS_KEPT)(pieces.split)


def rows_of(tokens: Sequence[str], split: Split, first_pair: int, pairs: int) -> list[int]:
    """The rows of a text's pieces and of its pairs of adjacent words. Pairs start at row ``first_pair``."""
    rows = [row for token in tokens for row in split(token)]
    plain = ["^", *(token for token in tokens if token.isalnum()), "$"]
    if pairs and len(plain) > 2:
        rows += [first_pair + _hash(f"{first} {second}") % pairs for first, second in pairwise(plain)]
    return rows


def rows_of_many(
    texts: Sequence[Sequence[str]], split: Split, first_pair: int, pairs: int
) -> list[list[int]]:
    """The same for the tokens of many texts, whose pairs are hashed at once."""
    found = [list(chain.from_iterable(map(split, tokens))) for tokens in texts]
    words = [[*filter(str.isalnum, tokens)] for tokens in texts] if pairs else []
    numbers: dict[str, int] = {"^": 0, "$": 1}
    places = [numbers.setdefault(word, len(numbers)) for each in words if each for word in ("^", *each, "$")]
    if places:
        following = iter((first_pair + _pair_hashes(list(numbers), numpy.array(places)) % pairs).tolist())
        for rows, each in zip(found, words, strict=True):
            rows += islice(following, len(each) + bool(each))
    return found


def _pair_hashes(words: Sequence[str], places: NDArray[Any]) -> NDArray[numpy.int64]:
    """32-bit FNV-1a of adjacent words with a space between them, except for ``$ ^``, between two texts.

    Args:
        words: Distinct words; the first two are ``^`` and ``$``.
        places: The words of the texts, by their places in ``words``.
    """
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    sizes = numpy.array([len(each) for each in encoded])
    signs = numpy.array(encoded).view(numpy.uint8).reshape(len(words), -1)

    def continued(hashes: NDArray[numpy.uint32], by: NDArray[Any]) -> NDArray[numpy.uint32]:
        left = numpy.arange(len(by))
        for place in range(signs.shape[1]):
            left = left[sizes[by[left]] > place]
            hashes[left] = (hashes[left] ^ signs[by[left], place]) * _PRIME
        return hashes

    begun = continued(numpy.full(len(words), 2166136261, dtype=numpy.uint32), numpy.arange(len(words)))
    firsts, seconds = places[:-1], places[1:]
    is_pair = firsts != 1
    hashes = continued((begun[firsts[is_pair]] ^ numpy.uint32(ord(" "))) * _PRIME, seconds[is_pair])
    return hashes.astype(numpy.int64)


def tokens_of(text: str) -> list[str]:
    """The tokens of a text, lower case without accents: runs of letters, runs of digits, single symbols."""
    plain = normalised("NFD", ends_of(text).lower())
    plain = _NON_ASCII.sub(_without_marks, plain)
    found = _TOKEN.findall(plain)
    if len(found) > TOKENS_READ:
        half = TOKENS_READ // 2
        found = found[:half] + found[-half:]
    return [token[:_LONGEST] for token in found]


def _without_marks(run: re.Match[str]) -> str:
    return "".join(sign for sign in run[0] if not unicodedata.combining(sign))


@lru_cache(maxsize=_PAIRS_KEPT)
def _hash(text: str) -> int:
    """32-bit FNV-1a, which is the same in every process."""
    value = 2166136261
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


class Pieces:
    """Word pieces by line number, from UTF-8 text with one piece per line. Thread-safe.

    Raises:
        UnicodeDecodeError: The data is not UTF-8.
    """

    def __init__(self, data: bytes) -> None:
        data.decode()
        # Every line needs a line end, and the last one needs padding, since two bytes of it are read.
        self._data = data + b"\n\n\n\n"
        signs = numpy.frombuffer(self._data, dtype=numpy.uint8)
        ends = numpy.flatnonzero(signs[: len(data) + 1] == ord("\n"))
        starts = numpy.concatenate([[0], ends[:-1] + 1])
        self._starts, self._ends = starts, ends
        inner = (
            (signs[starts] == _INNER[0]) & (signs[starts + 1] == _INNER[1]) & (ends - starts > len(_INNER))
        )
        places = starts + len(_INNER) * inner
        first, second = signs[places].astype(numpy.int32), signs[places + 1].astype(numpy.int32)
        self._beginnings = first << 9 | second << 1 | inner
        # Keyed by the first two bytes after the prefix, and whether there is a prefix.
        self._rows: dict[int, dict[bytes, int]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def split(self, token: str) -> tuple[int, ...]:
        """The rows of the longest known pieces of a word, from left to right; empty if any part is unknown.

        If a piece occurs twice in the data, its last row counts.
        """
        word = token.encode("utf-8", "surrogatepass")
        found: list[int] = []
        start = 0
        while start < len(word):
            rows = self._rows_with(word[start : start + 2], inner=start > 0)
            single = self._rows_with(word[start : start + 1], inner=start > 0)
            for end in range(min(len(word), start + LONGEST), start, -1):
                row = (rows if end > start + 1 else single).get(word[start:end])
                if row is not None:
                    found.append(row)
                    start = end
                    break
            else:
                return ()
        return tuple(found)

    def _rows_with(self, start_bytes: bytes, *, inner: bool) -> dict[bytes, int]:
        """The rows of the pieces that, without prefix, start with two given bytes or consist of one."""
        first, second = (start_bytes + b"\n")[:2]
        beginning = first << 9 | second << 1 | inner
        known = self._rows.get(beginning)
        if known is None:
            rows = numpy.flatnonzero(self._beginnings == beginning)
            starts = self._starts[rows] + len(_INNER) * inner
            places = zip(starts.tolist(), self._ends[rows].tolist(), rows.tolist(), strict=True)
            known = self._rows[beginning] = {self._data[start:end]: row for start, end, row in places}
        return known
