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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from engine.errors import AutopoiesisError
from engine.meaning.pieces import Pieces
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
_TOKEN = expression(r"[a-z]+|[0-9]+|[^\sa-z0-9]")
_NON_ASCII = expression(r"[^\x00-\x7f]+")


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
        for index, text in enumerate(texts):
            rows = rows_of(tokens_of(text), self._split, self._first_pair, self._pairs)
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
