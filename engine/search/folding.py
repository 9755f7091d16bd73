"""Folds text the way the index does: lower case, without diacritics."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from typing import cast

import apsw

from engine.search import scripts

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_WITH_VARIANTS = (
    *range(0x00C0, 0x0250),
    *range(0x0300, 0x0E00),
    *range(0x1E00, 0x2000),
    *range(0xFB1D, 0xFFE0),
)
"""Ranges with characters that fold to another one: most alphabets, combining marks, and other forms."""


class Folding:
    """Folds text as the index does, by calling FTS5's ``unicode61`` tokenizer once for each character."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._tokenizer = connection.fts5_tokenizer("unicode61", [])
        self._folded: dict[str, str] = {}
        self._variants: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """The folded text: combining marks are removed, and characters other than letters are kept."""
        if text.isascii():
            return text.lower()
        return _NON_ASCII.sub(self._fold_run, scripts.folded(text)).lower()

    def expression(self, folded: str) -> str:
        """A regular expression for everything that folds to a text, in syntax that Python and ripgrep share.

        Use it with the option that ignores case.
        """
        variants = self._variants = self._variants or self._find_variants()
        marks = f"[{variants['']}]*"
        return marks.join(_one_of(letter, variants.get(letter, "")) for letter in folded)

    def _fold_run(self, run: re.Match[str]) -> str:
        return "".join(map(self._fold_one, run[0]))

    def _fold_one(self, character: str) -> str:
        known = self._folded.get(character)
        if known is None:
            known = self._folded[character] = self._tokenize_one(character)
        return known

    def _tokenize_one(self, character: str) -> str:
        data = f"a{character}b".encode("utf-8", "replace")
        found = cast(
            "list[tuple[int, int, str]]",
            self._tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False),
        )
        return found[0][2][1:-1] if len(found) == 1 else character

    def _find_variants(self) -> dict[str, str]:
        found: defaultdict[str, str] = defaultdict(str)
        for character in map(chr, _WITH_VARIANTS):
            folded = self.fold(character)
            if folded != character and (folded.isalnum() or not folded):
                found[folded] += character
        return dict(found)


def _one_of(letter: str, variants: str) -> str:
    apart = unicodedata.normalize("NFD", letter)
    if apart != letter:  # a syllable of Hangul, or a letter of Japanese
        return f"(?:[{letter}{variants}]|{apart})"
    if variants:
        return f"[{letter}{variants}]"
    return f"\\x{ord(letter):02x}" if letter.isascii() and not letter.isalnum() else letter
