"""Formats scores, thresholds and weights: ``.31``, ``.05``, ``1.00``, ``+1.9``."""

from __future__ import annotations

from functools import lru_cache

_MINUS = "−"


def format_score(value: float, *against: float) -> str:
    """A score as text, without the leading zero.

    Two digits, or as many as it takes to distinguish it from the values of ``against``, so that ``.30 < .30``
    never appears.
    """
    for digits in range(2, 17):
        text = f"{value:.{digits}f}"
        if all(text != f"{other:.{digits}f}" or other == value for other in against):
            return _bare(text)
    return _bare(f"{value:.2f}")


@lru_cache(maxsize=256)  # the same few thresholds for every topic of every message
def format_threshold(value: float) -> str:
    """A threshold as text: two digits, or as many as the setting has, up to four."""
    text = f"{value:.4f}".rstrip("0")
    whole, _, digits = text.partition(".")
    return _bare(f"{whole}.{digits.ljust(2, '0')}")


def format_weight(value: float, digits: int = 1) -> str:
    """A weight as text with its sign: ``+1.9``, ``−.4``; ``0`` if it rounds to zero."""
    text = f"{abs(value):.{digits}f}"
    if not text.strip("0."):
        return "0"
    return (_MINUS if value < 0 else "+") + _bare(text)


def _bare(text: str) -> str:
    return text[1:] if text.startswith("0.") else text
