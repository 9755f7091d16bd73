"""One-line summaries of tool calls and results, truncated visibly (spec 2.1)."""

from __future__ import annotations

import re

LIMIT = 200
"""Maximum length in characters of a summary or result in a transcript."""

# Terminal colours, cursor movements and window titles, complete or truncated.
_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
_WINDOW = 16 * 1024


def one_line(text: str, limit: int = LIMIT) -> str:
    """Put a text on one line: collapse whitespace, remove terminal sequences, truncate with an ellipsis.

    The result has at most ``limit`` characters, including the ellipsis.
    """
    window = text[: max(_WINDOW, 4 * limit)]
    line = " ".join(_TERMINAL.sub("", window).split())
    if len(line) > limit:
        return f"{line[: limit - 1].rstrip(' ')}…"
    return f"{line[: limit - 1]}…" if len(window) < len(text) and text[len(window) :].strip() else line


def count(number: int, noun: str) -> str:
    """``1 line``, ``2 lines``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
