"""What of a chunk's text counts how much by its words: prose, quoted lines, the parts of identifiers.

A turn of a coding session is a few sentences and much tool output, in which every word of a project appears
sooner or later. What a person or the agent says tells what a turn is about; tool output and quotations hardly
do.
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
    """A text as its prose, its quoted lines (``> …``), and the words that identifiers are made of.

    ``getRewindPoints`` is found by *rewind* and by *points*; ``snake_case`` and ``kebab-case`` the index cuts
    by itself.
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
