"""Plain text for a terminal or a pipe: wrapped, with control characters escaped."""

from __future__ import annotations

import textwrap


def wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    """Wraps a text to ``width`` columns; ``first`` precedes the first line and ``rest`` the others."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [first.rstrip()]


def printable(text: str) -> str:
    """A text with its control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
