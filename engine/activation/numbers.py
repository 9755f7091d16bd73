"""How scores and thresholds are written everywhere: ``.31``, ``.05``, ``1.00``."""

from __future__ import annotations


def written(value: float, against: float | None = None) -> str:
    """A score as text, without the leading zero.

    Two digits, unless that would hide on which side of ``against`` the score lies: then as many as it takes,
    so that nobody reads ``.30 < .30``.
    """
    if against is not None and value != against:
        for digits in range(2, 17):
            text = f"{value:.{digits}f}"
            if text != f"{against:.{digits}f}":
                return _bare(text)
    return _bare(f"{value:.2f}")


def limit(value: float) -> str:
    """A threshold as text: two digits, or as many as the setting has, up to four."""
    text = f"{value:.4f}".rstrip("0")
    whole, _, digits = text.partition(".")
    return _bare(f"{whole}.{digits.ljust(2, '0')}")


def _bare(text: str) -> str:
    return text[1:] if text.startswith("0.") else text
