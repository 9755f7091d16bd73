"""Judges what a sentence of an agent's reply tells: what was done, what was found, or neither.

The ways in which agents report are too many for a list, in any language; ``data/README.md`` says what the
judge learned from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.meaning.wording import WORD, SentenceModel, wording
from engine.startup.lazy import expression

KINDS = ("done", "found", "other")
MODEL = SentenceModel(Path(__file__).parent / "data" / "replies.json")

_FORMS = {
    "question": expression(r"[?？]\s*$"),
    "announces": expression(r"[:：]\s*$"),
    "ends": expression(r"[.。!！]$"),
    "cut": expression(r"…$"),
    "code": expression(r"`"),
    "symbol": expression(r"[\U0001F300-\U0001FAFF✅❌✓✗]"),
    "number": expression(r"\d"),
    "lower": expression(r"^[a-z]"),
    "i": expression(r"\bi\b", re.IGNORECASE),
    "you": expression(r"\byou", re.IGNORECASE),
    "now": expression(r"\bnow\b", re.IGNORECASE),
    "past": expression(r"\b\w+ed\b"),
}
_WORDS_A_LENGTH = 4
_MAX_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a sentence is judged; probabilities from 0 to 1, which sum to 1."""

    done: float
    found: float
    other: float

    @property
    def told(self) -> float:
        """The probability that it says what came of the work."""
        return self.done + self.found


@lru_cache(maxsize=4_096)
def judged(sentence: str, *, is_item: bool) -> Verdict:
    """The verdict on a sentence, which may be an item of a list."""
    return Verdict(*MODEL.probabilities(features(sentence, is_item=is_item)))


def features(sentence: str, *, is_item: bool) -> dict[str, float]:
    """The features of a sentence with their values: its wording, form and length."""
    found = wording(sentence)
    found.update((f"form:{name}", WORD) for name, form in _FORMS.items() if form.search(sentence))
    if is_item:
        found["form:item"] = WORD
    length = min(len(sentence.split()) // _WORDS_A_LENGTH, _MAX_LENGTH)
    found[f"length:{length}"] = WORD
    return found
