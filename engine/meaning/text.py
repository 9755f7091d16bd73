"""Truncates and normalizes texts in time proportional to their length."""

from __future__ import annotations

import unicodedata
from typing import Literal

CHARACTERS_READ = 20_000
"""Characters of a text that are read: half from its start and half from its end if it is longer."""
_BLOCK = 1_000
"""Characters normalized at once, since the time is quadratic in the number of consecutive combining marks."""


def ends_of(text: str) -> str:
    """The part of a text that is read: all of it, or its two ends on separate lines."""
    if len(text) <= CHARACTERS_READ:
        return text
    half = CHARACTERS_READ // 2
    return f"{text[:half]}\n{text[-half:]}"


def normalised(form: Literal["NFKC", "NFD"], text: str) -> str:
    """A text in a Unicode normal form, in time proportional to its length."""
    if text.isascii():
        return text
    blocks = (text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK))
    return "".join(unicodedata.normalize(form, block) for block in blocks)
