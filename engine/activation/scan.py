"""A message prepared once for all detectors of tier 1.

Detectors work on ``Scan.text``: the message in composed Unicode (NFC), or its two ends if it is longer than
``CHARACTERS_READ``; nothing matches across the gap. ``Scan.original`` maps a span back to the message.
"""

from __future__ import annotations

import re
from functools import cached_property

from engine.activation.links import Link, links_in
from engine.meaning.text import CHARACTERS_READ, ends_of
from engine.startup.lazy import expression
from engine.store.spelling import composed

# Scripts that put no space between words, or attach particles to them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff"
)
# Vowel signs and points on letters, which ``\\w`` does not match.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03"
    "\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c4d"
    "\u0c81-\u0c83\u0cbc-\u0ccd\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf"
)
_ANY_UNSPACED = expression(f"[{_UNSPACED}]")
_WORD = expression(r"\w+")
_ANY_WORD = expression(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[\w{_MARKS}])+")
_EMAIL = expression(r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[\w-]{2,63}")
_WIDE = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_INLINE_CODE = expression(r"(`{1,2})(?!`)[^`\n]{1,400}\1(?!`)")
_FENCE = expression(r"(?m)^[ \t>]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")


def fold(text: str) -> str:
    """The text with case differences removed.

    This goes beyond ignoring case: ``ß`` equals ``ss``, all Turkish letters i are equal, and so are
    full-width and half-width letters and digits. If a pattern matches ignoring case, its folded literals are
    in the folded text.
    """
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").casefold().replace("ı", "i").translate(_WIDE)


def is_unspaced(text: str) -> bool:
    """Whether a text has letters of a script that does not separate words with spaces."""
    return not text.isascii() and _ANY_UNSPACED.search(text) is not None


def split(text: str) -> list[tuple[str, int, int]]:
    """The words of a text as in ``Scan.words``."""
    if text.isascii():
        found = [(match[0], *match.span()) for match in _WORD.finditer(text.lower())]
    elif max(text) < "\u0300":
        # Western European letters do not need the check for other scripts.
        found = [(fold(match[0]), *match.span()) for match in _WORD.finditer(text)]
    else:
        found = [(fold(match[0]), *match.span()) for match in _ANY_WORD.finditer(text)]
    if "_" not in text:
        return found
    bare: list[tuple[str, int, int]] = []
    for word, start, end in found:
        left = word.lstrip("_")
        core = left.rstrip("_")
        if core:
            bare.append((core, start + len(word) - len(left), end - len(left) + len(core)))
    return bare


class Scan:
    """A message's text with everything detectors share, computed on first use."""

    def __init__(self, text: str) -> None:
        read = ends_of(text)
        self._skipped = len(text) - len(read)
        self._cut = len(composed(read[: CHARACTERS_READ // 2]))
        self.text = composed(read)
        self._is_shifted = self.text != read

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the message of a span in ``text``; -1 and -1 if the message was not composed."""
        if self._is_shifted:
            return -1, -1
        first, last = (at if at <= self._cut else at + self._skipped for at in (start, end))
        return first, last

    def spans_gap(self, start: int, end: int) -> bool:
        """Whether a match extends from the head of a long message into its tail."""
        return self._skipped > 0 and start <= self._cut < end - 1

    @cached_property
    def folded(self) -> str:
        """The folded ``text``; offsets may differ."""
        return fold(self.text)

    @cached_property
    def words(self) -> list[tuple[str, int, int]]:
        """Every word, folded, without surrounding underscores, with start and end in ``text``.

        A word ends where a script without spaces meets another: ``用python写`` has three.
        """
        return split(self.text)

    @cached_property
    def links(self) -> list[Link]:
        """Every link, in order."""
        return links_in(self.text)

    @cached_property
    def addresses(self) -> list[tuple[int, int]]:
        """The spans of links and e-mail addresses."""
        mail = _EMAIL.finditer(self.text) if "@" in self.text else ()
        return [*((link.start, link.end) for link in self.links), *(match.span() for match in mail)]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Indices into ``words`` by folded word."""
        places: dict[str, list[int]] = {}
        for index, (word, _, _) in enumerate(self.words):
            places.setdefault(word, []).append(index)
        return places

    @cached_property
    def fences(self) -> list[tuple[str, int, int]]:
        """Fenced code blocks: the text after the opening fence, start and end of the code in ``text``.

        An unclosed fence extends to the end.
        """
        blocks: list[tuple[str, int, int]] = []
        if "```" not in self.text and "~~~" not in self.text:
            return blocks
        opening: re.Match[str] | None = None
        for line in (*_FENCE.finditer(self.text), None):
            if opening is None:
                opening = line
            elif line is None or (line["mark"].startswith(opening["mark"]) and not line["info"].strip()):
                end = len(self.text) if line is None else line.start()
                blocks.append((opening["info"].strip(), min(opening.end() + 1, end), end))
                opening = None
        return blocks

    @cached_property
    def inline_code(self) -> list[tuple[int, int]]:
        """The spans of code between backticks outside of code blocks, with the backticks."""
        if "`" not in self.text:
            return []
        text = _blanked(self.text, [(start, end) for _, start, end in self.fences])
        return [match.span() for match in _INLINE_CODE.finditer(text)]

    @cached_property
    def prose(self) -> str:
        """``text`` with code blocks, inline code and links blanked out, offsets unchanged."""
        code = [*((start, end) for _, start, end in self.fences), *self.inline_code]
        return _blanked(self.text, [*code, *((link.start, link.end) for link in self.links)])


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
