"""One-line summaries of tool calls and results, truncated visibly (spec 2.1)."""

from __future__ import annotations

from engine.startup.lazy import expression

LIMIT = 200
"""Maximum length in characters of a summary or result in a transcript."""

# Terminal colours, cursor movements and window titles, complete or truncated.
_TERMINAL = expression(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
_WINDOW = 16 * 1024
_BEFORE = 100
"""Characters before a word that may tell that it is a secret."""
_LONGEST = 4096
"""Characters of a word that are examined."""


def one_line(text: str, limit: int = LIMIT) -> str:
    """Put a text on one line: collapse whitespace, remove terminal sequences, truncate with an ellipsis.

    The result has at most ``limit`` characters, including the ellipsis, and no part of a likely secret that
    does not fit.
    """
    window = text[: max(_WINDOW, 4 * limit)]
    line = " ".join(_TERMINAL.sub("", window).split())
    if len(line) > limit:
        return f"{line[: _end(line, limit - 1)].rstrip(' ')}…"
    return f"{line[: limit - 1]}…" if len(window) < len(text) and text[len(window) :].strip() else line


def _end(line: str, limit: int) -> int:
    """Where to truncate a line: at the limit, or before a likely secret that it would cut."""
    if line[limit - 1 : limit + 1].strip() != line[limit - 1 : limit + 1]:
        return limit  # between words
    from engine.redaction.detect import secrets_in  # noqa: PLC0415 — only if a word is cut

    first = max(0, line.rfind(" ", 0, limit) - _BEFORE)
    last = line.find(" ", limit, limit + _LONGEST)
    near = line[first : last if last > 0 else limit + _LONGEST]
    found = ((first + secret.start, first + secret.end) for secret in secrets_in(near))
    return next((start for start, end in found if start < limit < end), limit)


def count(number: int, noun: str) -> str:
    """``1 line``, ``2 lines``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
