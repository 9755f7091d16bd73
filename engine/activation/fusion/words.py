"""Splits texts into words, and computes fingerprints of their character trigrams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy

from engine.meaning.text import CHARACTERS_READ, ends_of, normalised
from engine.search.scripts import words_in
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Signature = NDArray[numpy.uint32]

WORDS_READ = 1_000
"""Words of a text that count: half from its start and half from its end if it has more."""
SIGNATURE_LENGTH = 64
"""Number of hash functions; the estimated Jaccard index has a standard error of at most .07."""

_MARKS = "\u0300-\u036f\u3099\u309a"
_WORD = expression(r"[^\W_]+(?:['’][^\W\d_]+)?")
_PLACE = expression(rf"(?:[^\W_][{_MARKS}]*)+(?:['’](?:[^\W\d_][{_MARKS}]*)+)?")
_PRIME = (1 << 31) - 1
_MAX_WORD = 40


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


def signature_of(words: Sequence[str]) -> Signature:
    """The MinHash fingerprint of a text's character trigrams: uint32 ``[SIGNATURE_LENGTH]``.

    Fingerprints agree in the same share of positions as the texts share trigrams. The hash functions are
    fixed.
    """
    codes = numpy.fromiter(_trigram_codes(words), dtype=numpy.uint64)
    if not len(codes):
        return numpy.full(SIGNATURE_LENGTH, _PRIME, dtype=numpy.uint32)
    scale, shift = _hash_functions()
    hashed = (codes[:, None] * scale[None, :] + shift[None, :]) % numpy.uint64(_PRIME)
    signature: Signature = hashed.min(axis=0).astype(numpy.uint32)
    return signature


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    # lower() leaves a dot of the Turkish capital İ, which would end the word.
    return normalised("NFKC", text).lower().replace("\u0307", "")


def _shortened(word: str) -> str:
    return word[:_MAX_WORD].replace("’", "'")


def _trigram_codes(words: Sequence[str]) -> Iterator[int]:
    seen = set()
    for word in dict.fromkeys(words):
        framed = f" {word} "
        for start in range(len(framed) - 2):
            seen.add(framed[start : start + 3])
    for gram in seen:  # in any order, since only the minimum hash counts
        code = 0
        for character in gram:
            code = (code * 0x01000193 + ord(character)) & 0x7FFFFFFF
        yield code


@lru_cache(maxsize=1)
def _hash_functions() -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint64]]:
    # A fixed sequence, since numpy's random numbers may change with its version.
    state, numbers = 0x2545F4914F6CDD1D, []
    for _ in range(2 * SIGNATURE_LENGTH):
        state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
        numbers.append(state % (_PRIME - 1) + 1)
    table = numpy.array(numbers, dtype=numpy.uint64)
    return table[:SIGNATURE_LENGTH], table[SIGNATURE_LENGTH:]
