"""Whether a prompt holds what a probe expects: the rules.

**A file** is found when a section of the prompt comes from it.

**Lines of a file** are found when ``ENOUGH`` of their wording stands in the sections that come from the file.
Wording is taken in runs of four words; a line of fewer is one run. So it does not matter how white space,
punctuation or Markdown fall, nor that an excerpt is cut at either end or leaves lines out, as long as three
fifths are there. A word is a run of letters and digits, case ignored; of scripts that put no space between
words each character is one.

**A text** is found when a section contains it, whatever the case, white space, quotation marks, ``*`` and
back quotes are. The message itself is no evidence.
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
"""The part of the lines' runs that must be there."""
RUN = 4
"""Words of a run."""

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "*": None, "`": None})

Run = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a prompt holds of an expectation."""

    section: Section | None  # that holds it, or most of it; ``None`` when none holds any
    share: float  # part of the wording that is there, 0 to 1

    @property
    def is_enough(self) -> bool:
        """Whether it counts as found."""
        return self.section is not None and self.share >= ENOUGH


NOTHING = Coverage(None, 0.0)


def of_file(path: str, sections: Sequence[Section]) -> Coverage:
    """What the prompt holds of a file: any of it is enough."""
    own = [section for section in sections if section.source == path]
    return Coverage(max(own, key=lambda section: section.tokens), 1.0) if own else NOTHING


def of_lines(path: str, lines: Sequence[str], sections: Sequence[Section]) -> Coverage:
    """What the prompt holds of some lines of a file; of lines without words it can hold nothing."""
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
    """What the prompt holds of a text: all of it in one section, or nothing."""
    wanted = normal(text)
    for section in sections:
        if section.slot != "message" and contains(section.text, wanted):
            return Coverage(section, 1.0)
    return NOTHING


def contains(text: str, wanted: str) -> bool:
    """Whether a text contains a ``normal`` one that is not empty."""
    return bool(wanted) and wanted in normal(text)


def normal(text: str) -> str:
    """A text as texts are compared: case folded, white space single, quotation marks straight, no ``*`` and
    back quotes.
    """
    folded = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    return " ".join(folded.translate(_QUOTES).split())


def words(text: str) -> list[str]:
    """The words of a text, case folded."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _runs(line: list[str]) -> list[Run]:
    if len(line) < RUN:
        return [tuple(line)] if line else []
    return [tuple(line[at : at + RUN]) for at in range(len(line) - RUN + 1)]


def _all_runs(text: list[str], lengths: set[int]) -> set[Run]:
    return {tuple(text[at : at + length]) for length in lengths for at in range(len(text) - length + 1)}
