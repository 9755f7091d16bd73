"""Separates a chunk's text into parts whose words have different weights: prose, quotations, identifiers.

A turn of a coding session consists of a few sentences and much tool output, which contains every word of a
project sooner or later. What the user or the agent writes shows what a turn is about; tool output and
quotations hardly do.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.startup.lazy import expression

_QUOTED = expression(r"\\?>")
_HUMP = expression(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_WORD = expression(r"[A-Za-z0-9]{4,}")
_PIECE = expression(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_SHORTEST = 3


def wording(text: str) -> tuple[str, str, str]:
    """Return a text's prose, its quoted lines (``> …``), and the words in its camel-case identifiers.

    ``getRewindPoints`` can be found by *rewind* and by *points*; the index's tokenizer already splits
    ``snake_case`` and ``kebab-case``.
    """
    prose, quoted = text, ""
    if ">" in text:
        lines = text.split("\n")
        prose = "\n".join(line for line in lines if not _QUOTED.match(line))
        quoted = "\n".join(line for line in lines if _QUOTED.match(line))
    return prose, quoted, " ".join(_pieces(text)) if _HUMP.search(text) else ""


def _pieces(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if _HUMP.search(word):
            yield from (piece for piece in _PIECE.findall(word) if len(piece) >= _SHORTEST)
