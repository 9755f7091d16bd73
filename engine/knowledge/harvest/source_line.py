"""Finds the line of a conversation that an item comes from, to be shown in a review."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.item import Item, normalised
from engine.redaction.detect import masked

if TYPE_CHECKING:
    from engine.knowledge.review import Locate
    from engine.store.files import Files

EXCERPT = 240
"""Characters of the line to keep."""

_WORD = re.compile(r"[^\W_]{2,}")
_TOOL = re.compile(r'\[tool:|"(?:command|cmd|arguments|tool_use)"')
"""Marks a tool call in a transcript or log."""
_MIN_SHARE = 0.34
"""Share of an item's words that a line must contain to count as its origin."""


def finder(files: Files, path: str) -> Locate:
    """Finds items in a source, which is read when first needed; finds nothing if that fails."""

    @cache
    def data() -> bytes:
        try:
            return files.read(path)
        except (FileNotFoundError, AutopoiesisError):
            return b""

    return lambda item: find_source_line(item, data())


def find_source_line(item: Item, data: bytes) -> tuple[int, str]:
    """The number, from 1, and an excerpt of the first line with the most words of an item; 0 and an empty
    string if no line has enough of them. For a command, the last line that ran it.
    """
    wanted = set(_words(item.text))
    if not wanted:
        return 0, ""
    lines = data.decode("utf-8", "replace").split("\n")
    steps = item.text.partition("**: ")[2]
    if steps:
        for number, line in reversed(tuple(enumerate(lines, 1))):
            if steps in line and _TOOL.search(line):
                return number, _excerpt(line.strip(), set(_words(steps)))
    best, found = 0, (0, "")
    for number, line in enumerate(lines, 1):
        shared = len(wanted.intersection(_words(line)))
        if shared > best:
            best, found = shared, (number, line)
    if best < _MIN_SHARE * len(wanted):
        return 0, ""
    number, line = found
    return number, _excerpt(line.strip(), wanted)


def _words(text: str) -> list[str]:
    return _WORD.findall(normalised(text))


def _excerpt(line: str, wanted: set[str]) -> str:
    """The part of a line with the words; all of it if it is short."""
    if len(line) <= EXCERPT:
        return line
    line = masked(line)  # part of a key is no longer recognized as one
    starts = [match.start() for match in _WORD.finditer(line) if match[0].casefold() in wanted]
    # The window with the most words starts at one of them.
    counts = (bisect_left(starts, place + EXCERPT) - number for number, place in enumerate(starts))
    _, best = max(zip(counts, starts, strict=True), key=lambda each: each[0], default=(0, 0))
    start = max(0, best - 8)
    text = line[start : start + EXCERPT]
    return f"{'…' if start else ''}{text}{'…' if start + EXCERPT < len(line) else ''}"
