"""Rewrites text so that the index's tokenizer finds the words of every script.

``unicode61`` takes a sentence without spaces for one word, ends a word at the vowel signs of Hindi, and knows
accents of Latin letters only. What is indexed and looked up is therefore text in which

- a run of Chinese, Japanese, Thai, Lao, Khmer or Burmese is cut into all pairs of adjacent characters; in the
  index, each Chinese character also stands alone, since it may be a word;
- points, accents and composed letters are folded: ``й`` is ``и``, ``ı`` is ``i``, ``كِتاب`` is ``كتاب``;
- letters and signs of scripts with vowel signs are replaced by private-use characters, of which the tokenizer
  makes words.

A character is a letter with its marks. ASCII text stays as it is, and so do the words of other Latin text.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import pairwise

from engine.startup.lazy import expression

# The ranges are fixed, not Unicode properties: an index must be read by another version of Python.
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_INDOCHINESE = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u17dc\u17dd"
)
UNSPACED = f"{_HAN}{_KANA}{_INDOCHINESE}"
"""Letters of scripts without spaces between words, as ranges in a class of a regular expression."""
_UNSPACED_MARKS = (
    "\u0300-\u036f\u3099\u309a\uff9e\uff9f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\u17b4-\u17d3\u17dd"
)
# Blocks whose vowel signs end a word for the tokenizer, without their punctuation: Thaana to Tibetan.
_SIGNED = (
    "\u0780-\u07bf\u0900-\u0963\u0966-\u096f\u0971-\u0df3"
    "\u0f00\u0f18-\u0f33\u0f35-\u0f39\u0f3e-\u0f84\u0f86-\u0fbc"
)
_JOINERS = "\u200c\u200d"
_DROPPED = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc"
)
"""Accents and points, which people leave out; not those that make another letter in Japanese."""
_CONJOINING = "\u1160-\u11ff"
_TO_PRIVATE = {code: code + 0xD880 for code in (*range(0x0780, 0x10A0), *range(0x1780, 0x1800))}

_NON_ASCII = expression(r"[^\x00-\x7f]+")
_PIECE = expression(
    rf"(?s:([{UNSPACED}][{UNSPACED}{_UNSPACED_MARKS}]*)|([{_SIGNED}][{_SIGNED}{_JOINERS}]*)"
    rf"|.[{_DROPPED}{_CONJOINING}]*)"
)
_UNSPACED_RUN = expression(rf"([{UNSPACED}][{UNSPACED}{_UNSPACED_MARKS}]*)|[^{UNSPACED}]+")
_CHARACTER = expression(rf"(?s:.[{_UNSPACED_MARKS}]*)")
_ONE_HAN = expression(f"[{_HAN}]")
_ANY_DROPPED = expression(f"[{_DROPPED}{_JOINERS}]+")
_CACHED = 8_192

Pieces = tuple[tuple[int, int, str], ...]
"""Start, end and replacement of consecutive or overlapping parts of a text."""


def searchable(text: str, *, asked: bool = False) -> str:
    """The text as it is indexed, or as it is looked up if it is ``asked`` for."""
    if text.isascii():
        return text
    return _NON_ASCII.sub(lambda run: "".join(each[2] for each in _pieces(run[0], asked)), text)


def aligned(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The text as it is indexed, with the span in the text of each of its characters."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    place = 0
    for run in _NON_ASCII.finditer(text):
        start, end = run.span()
        parts.append(text[place:start])
        spans += zip(range(place, start), range(place + 1, start + 1), strict=True)
        for first, last, piece in _pieces(run[0], False):
            parts.append(piece)
            spans += [(start + first, start + last)] * len(piece)
        place = end
    parts.append(text[place:])
    spans += zip(range(place, len(text)), range(place + 1, len(text) + 1), strict=True)
    return "".join(parts), spans


def words_in(word: str) -> list[tuple[int, int]]:
    """The spans of the words in a run of letters.

    They are the pairs of adjacent characters in a script without spaces, and whatever lies between such.
    """
    if word.isascii():
        return [(0, len(word))]
    found: list[tuple[int, int]] = []
    for run in _UNSPACED_RUN.finditer(word):
        start, end = run.span()
        found += (
            [(start + a, start + b) for a, b in _pairs(_characters(run[0]))] if run[1] else [(start, end)]
        )
    return found


@lru_cache(maxsize=_CACHED)
def folded(text: str) -> str:
    """The text with composed letters and without accents and points."""
    if text.isascii():
        return text
    if _PRESENTED.search(text):
        text = unicodedata.normalize("NFKC", text)
    plain = _ANY_DROPPED.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", plain).replace("ı", "i")


_PRESENTED = expression("[\ufb1d-\ufdff\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]")
"""Compatibility forms of letters: ligatures, and letters of another width."""


def _characters(run: str) -> list[tuple[int, int]]:
    return [match.span() for match in _CHARACTER.finditer(run)]


def _pairs(characters: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if len(characters) < 2:
        return characters
    return [(a, b) for (a, _), (_, b) in pairwise(characters)]


@lru_cache(maxsize=_CACHED)
def _pieces(run: str, asked: bool) -> Pieces:
    found: list[tuple[int, int, str]] = []
    for piece in _PIECE.finditer(run):
        start, end = piece.span()
        if piece[1] is None:
            found.append((start, end, _indexed(piece[0]) if piece[2] else folded(piece[0])))
            continue
        characters = _characters(piece[0])
        spans = _pairs(characters)
        if not asked and len(characters) > 1:
            spans = sorted([*spans, *(each for each in characters if _ONE_HAN.match(piece[0], each[0]))])
        found += ((start + a, start + b, f" {_indexed(piece[0][a:b])} ") for a, b in spans)
    return tuple(found)


def _indexed(letters: str) -> str:
    return folded(letters).translate(_TO_PRIVATE)
