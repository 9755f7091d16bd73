"""One message, prepared once for all detectors of tier 1.

Detectors work on ``Scan.text``, which is the message in composed Unicode (NFC), cut to its head and tail when
it is long. ``Scan.original`` leads from a span there back to the span in the message.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cached_property

MAX_CHARACTERS = 20_000
"""Longest text that is scanned whole. Of a longer one the first and the last half of this are scanned; what
lies between is not looked at, and nothing matches across the gap."""

GAP = "\n\n"

_WORD = re.compile(r"\w+")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,15}://|www\.)\S+", re.IGNORECASE)
_INLINE_CODE = re.compile(r"(`{1,2})(?!`)[^`\n]{1,400}\1(?!`)")
_FENCE = re.compile(r"^[ \t>]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$", re.MULTILINE)


def fold(text: str) -> str:
    """Text in which characters that differ in case alone are equal.

    It goes further than ignoring case does: ``ß`` equals ``ss``. Where a pattern ignoring case matches, its
    folded literals occur in the folded text.
    """
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").casefold()


def compose(text: str) -> str:
    """The text in composed form (NFC), in which ``ü`` is one character."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class Scan:
    """A message's text with everything detectors share, computed when first asked for."""

    def __init__(self, text: str) -> None:
        self._cut = len(text)
        self._skipped = 0
        if len(text) > MAX_CHARACTERS:
            head = _shortened(text, MAX_CHARACTERS // 2)
            tail = _lengthened(text, len(text) - MAX_CHARACTERS // 2)
            self._cut = head
            self._skipped = tail - head - len(GAP)
            text = text[:head] + GAP + text[tail:]
        self._starts: list[int] = []
        self._begins: list[int] = []
        self._ends: list[int] = []
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            text = self._composed(text)
        self.text = text

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the message of a span in ``text``. Letters of which a part is meant are in it whole."""
        return self._led_back(start, self._begins), self._led_back(end, self._ends)

    def _led_back(self, offset: int, places: list[int]) -> int:
        if self._starts:
            index = bisect_right(self._starts, offset) - 1
            offset = places[index] + (offset - self._starts[index])
        return offset if offset <= self._cut else offset + self._skipped

    def spans_gap(self, start: int, end: int) -> bool:
        """Whether a match reaches from the head of a long message into its tail."""
        if not self._skipped:
            return False
        first, last = self.original(start, end)
        return first <= self._cut < last - len(GAP)

    @cached_property
    def folded(self) -> str:
        """``text`` folded; its offsets are not those of ``text``."""
        return fold(self.text)

    @cached_property
    def words(self) -> list[tuple[str, int, int]]:
        """Every word: folded, with start and end in ``text``; without underscores around it."""
        if len(self.folded) == len(self.text):
            # No character folds to less than one, so offsets are the same in both.
            found = [(match[0], *match.span()) for match in _WORD.finditer(self.folded)]
        else:
            found = [(fold(match[0]), *match.span()) for match in _WORD.finditer(self.text)]
        if "_" not in self.text:
            return found
        bare: list[tuple[str, int, int]] = []
        for word, start, end in found:
            left = word.lstrip("_")
            core = left.rstrip("_")
            if core:
                bare.append((core, start + len(word) - len(left), end - len(left) + len(core)))
        return bare

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Indices into ``words`` by folded word."""
        places: dict[str, list[int]] = {}
        for index, (word, _, _) in enumerate(self.words):
            places.setdefault(word, []).append(index)
        return places

    @cached_property
    def fences(self) -> list[tuple[str, int, int]]:
        """Fenced code blocks: what stands behind the opening fence, start and end of the code in ``text``.

        A fence that is never closed reaches to the end.
        """
        blocks: list[tuple[str, int, int]] = []
        opening: re.Match[str] | None = None
        for line in _FENCE.finditer(self.text):
            if opening is None:
                opening = line
            elif line["mark"].startswith(opening["mark"]) and not line["info"].strip():
                blocks.append((opening["info"].strip(), min(opening.end() + 1, line.start()), line.start()))
                opening = None
        if opening is not None:
            blocks.append((opening["info"].strip(), min(opening.end() + 1, len(self.text)), len(self.text)))
        return blocks

    @cached_property
    def prose(self) -> str:
        """``text`` with code blocks, inline code and links blanked out, offsets unchanged."""
        text = self.text
        for _, start, end in self.fences:
            text = text[:start] + " " * (end - start) + text[end:]
        for pattern in (_INLINE_CODE, _URL):
            text = pattern.sub(_blank, text)
        return text

    def _composed(self, text: str) -> str:
        """Composes ``text`` cluster by cluster and notes where each one came from."""
        out: list[str] = []
        self._starts, self._begins, self._ends = [0], [0], [0]
        length = at = 0
        while at < len(text):
            end = at + 1
            while end < len(text) and not text[end].isascii() and _joins(text[end]):
                end += 1
            cluster = text[at:end]
            if not cluster.isascii():
                cluster = unicodedata.normalize("NFC", cluster)
            if len(cluster) != end - at:
                size = len(cluster)
                self._starts += range(length, length + size + 1)
                self._begins += [*[at] * size, end]
                self._ends += [at, *[end] * size]
            out.append(cluster)
            length += len(cluster)
            at = end
        return "".join(out)


def _joins(character: str) -> bool:
    # Besides combining marks, the vowels and finals of decomposed Hangul join what precedes them.
    return unicodedata.combining(character) > 0 or "ᅠ" <= character <= "ᇿ"


def _shortened(text: str, end: int) -> int:
    """The last white space at or before ``end``, so that no word is cut; ``end`` where there is none near."""
    for index in range(end, max(end - 200, 0), -1):
        if text[index].isspace():
            return index
    return end


def _lengthened(text: str, start: int) -> int:
    for index in range(start, min(start + 200, len(text))):
        if text[index - 1].isspace():
            return index
    return start


def _blank(match: re.Match[str]) -> str:
    return " " * (match.end() - match.start())
