"""The terms of a text: its words, pairs of words and parts of words, as numbers."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy

from engine.meaning.text import CHARACTERS_READ, ends_of, normalised
from engine.search.scripts import words_in
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[numpy.uint32]
    Floats = NDArray[numpy.float32]

WORDS_READ = 1_000
"""Words of a text that count: half from its start and half from its end if it has more."""
PART_SIZES = (3, 4, 5)
"""Letters in a part of a word; a space at either end of the word counts as one."""

_MARKS = "\u0300-\u036f\u3099\u309a"
_WORD = expression(r"[^\W_]+(?:['’][^\W\d_]+)?")
_PLACE = expression(rf"(?:[^\W_][{_MARKS}]*)+(?:['’](?:[^\W\d_][{_MARKS}]*)+)?")
_MAX_WORD = 40


@dataclass(frozen=True, slots=True)
class Terms:
    """The different terms of a text; a code is the CRC-32 of the term."""

    words: Codes  # uint32: words, and pairs of adjacent words
    word_counts: Floats  # float32, of the same length: how often each occurs
    parts: Codes  # uint32: parts of words
    part_counts: Floats


def words_of(text: str) -> list[str]:
    """The words of a text in NFKC and lower case with accents, cut to 40 letters.

    In a script without spaces, such as Chinese, every two adjacent characters of a run are a word.
    """
    folded = _folded(ends_of(text))
    found = _WORD.findall(folded)
    if not folded.isascii():
        found = [word[start:end] for word in found for start, end in words_in(word)]
    if len(found) > WORDS_READ:
        half = WORDS_READ // 2
        found = found[:half] + found[-half:]
    return [_shortened(word) for word in found]


def places_of(text: str) -> list[tuple[str, int, int]]:
    """The words of a text, as in ``words_of``, with start and end offsets, in order.

    Words of a run of Chinese or Japanese overlap, and words that are only separated by folding, such as the
    digits of ``½``, have the same offsets.
    """
    places: list[tuple[str, int, int]] = []
    half = CHARACTERS_READ // 2
    windows = (
        ((0, len(text)),) if len(text) <= CHARACTERS_READ else ((0, half), (len(text) - half, len(text)))
    )
    for window in windows:
        for found in _PLACE.finditer(text, *window):
            start, end = found.span()
            word = _folded(found[0])
            if len(word) == end - start:
                places += [(_shortened(word[a:b]), start + a, start + b) for a, b in words_in(word)]
            else:
                places += [(part, start, end) for part in words_of(found[0])]
    return places


def terms_of(words: Sequence[str]) -> Terms:
    """The terms of a text given by its words."""
    counts = Counter(code_of(word) for word in words)
    counts.update(code_of(f"{first} {second}") for first, second in pairwise(words))
    parts = [parts_of(word) for word in words]
    codes, sizes = numpy.unique(numpy.concatenate([_NO_CODES, *parts]), return_counts=True)
    return Terms(
        numpy.fromiter(counts.keys(), numpy.uint32, len(counts)),
        numpy.fromiter(counts.values(), numpy.float32, len(counts)),
        codes,
        sizes.astype(numpy.float32),
    )


@lru_cache(maxsize=20_000)
def parts_of(word: str) -> Codes:
    """The codes of a word's parts, at most 117."""
    framed = f" {word} "
    parts = [
        code_of(f"#{framed[start : start + size]}")
        for size in PART_SIZES
        for start in range(len(framed) - size + 1)
    ]
    codes = numpy.array(parts, dtype=numpy.uint32)
    codes.flags.writeable = False
    return codes


def code_of(term: str) -> int:
    """The code of a term. Those of parts begin with ``#``, so that none equals that of a word."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


_NO_CODES = numpy.zeros(0, dtype=numpy.uint32)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    # lower() leaves a dot of the Turkish capital İ, which would end the word.
    return normalised("NFKC", text).lower().replace("\u0307", "")


def _shortened(word: str) -> str:
    return word[:_MAX_WORD].replace("’", "'")
