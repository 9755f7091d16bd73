"""The rules for whether a prompt holds the evidence a probe expects.

**A file** is found if a section of the prompt comes from it.

**Lines of a file** are found if ``ENOUGH`` of their wording is in the sections from that file. Wording is
compared in runs of four words; a shorter line is one run. So white space, punctuation and Markdown do not
matter, and an excerpt may be cut or skip lines as long as three fifths are there. A word is a run of letters
and digits, ignoring case; in scripts without spaces between words, each character is a word.

**A text** is found if a section contains it, ignoring case, white space, style of quotation marks, ``*`` and
backticks. The message itself is not evidence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.context.compiled import Section

ENOUGH = 0.6
"""Share of the lines' runs that must be in the prompt."""
RUN = 4
"""Words in a run."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "*": None, "`": None})

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of an expectation a prompt holds."""

    section: Section | None  # the one with most of it; ``None`` if none has any
    share: float  # of the wording, 0 to 1

    @property
    def is_enough(self) -> bool:
        """True if it counts as found."""
        return self.section is not None and self.share >= ENOUGH


NOTHING = Coverage(None, 0.0)


def of_file(path: str, sections: Sequence[Section]) -> Coverage:
    """Coverage of a file: any part of it is enough."""
    own = [section for section in sections if section.source == path]
    return Coverage(max(own, key=lambda section: section.tokens), 1.0) if own else NOTHING


def of_lines(path: str, lines: Sequence[str], sections: Sequence[Section]) -> Coverage:
    """Coverage of lines of a file; lines without words are never found."""
    expected = {run for line in lines for run in _runs(words(line))}
    if not expected:
        return NOTHING
    lengths = {len(run) for run in expected}
    held: set[Run] = set()
    best: tuple[int, Section | None] = (0, None)
    for section in sections:
        if section.source == path:
            found = expected & _all_runs(words(section.text), lengths)
            held |= found
            if len(found) > best[0]:
                best = (len(found), section)
    return Coverage(best[1], len(held) / len(expected))


def of_text(text: str, sections: Sequence[Section]) -> Coverage:
    """Coverage of a text: all of it in one section, or nothing."""
    wanted = normal(text)
    for section in sections:
        if section.slot != "message" and contains(section.text, wanted):
            return Coverage(section, 1.0)
    return NOTHING


def contains(text: str, wanted: str) -> bool:
    """True if a text contains a non-empty ``normal`` text."""
    return bool(wanted) and wanted in normal(text)


def normal(text: str) -> str:
    """A text normalized for comparison: case-folded, single spaces, straight quotes, no ``*`` or backtick."""
    folded = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    return " ".join(folded.translate(_QUOTES).split())


def words(text: str) -> list[str]:
    """The words of a text, case-folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _runs(line: list[str]) -> list[Run]:
    if len(line) < RUN:
        return [tuple(line)] if line else []
    return [tuple(line[at : at + RUN]) for at in range(len(line) - RUN + 1)]


def _all_runs(text: list[str], lengths: set[int]) -> set[Run]:
    return {tuple(text[at : at + length]) for length in lengths for at in range(len(text) - length + 1)}
