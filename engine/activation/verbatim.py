"""Patterns that list texts, matched without a regular expression (design 4).

Compiling a regular expression takes longer than anything else that happens to a message, and in a process for
one message the package for it has to be imported first. A pattern such as ``\\b(invoice|receipt)s?\\b`` is
decided by where its texts stand and what is around them. What only the expression can decide is left to it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from engine.activation.literals import EDGE
from engine.activation.scan import Scan

_MOST_LOOKED_AT = 1_000
_APART = frozenset({"Po", "Pd", "Ps", "Pe", "Pi", "Pf", "Zs", "Zl", "Zp", "Sm", "Sc"})


def verbatim_spans(texts: Sequence[str], scan: Scan, most: int) -> list[tuple[int, int]] | None:
    """Where one of the texts stands, as a search for the pattern that lists them would find them.

    Args:
        texts: ``Needs.texts`` of the pattern.
        most: The number of places after which it stops.

    Returns:
        Spans in ``scan.text``, in order and not overlapping, or ``None`` when the pattern itself has to be
        asked: where case is not as simple as a lower-case letter for each, or where word edges are disputed.
    """
    folded = scan.folded
    bare = [text.replace(EDGE, "") for text in texts]
    places = [(at, rank) for rank, text in enumerate(bare) if (at := folded.find(text)) >= 0]
    heapify(places)
    spans: list[tuple[int, int]] = []
    taken = 0
    for _ in range(_MOST_LOOKED_AT):
        if not places or len(spans) == most:
            return spans
        at, rank = heappop(places)
        end = at + len(bare[rank])
        if at >= taken:
            span = scan.unfolded(at, end)
            fits = None if span is None else _fits(scan.text, span, texts[rank], bare[rank])
            if span is None or fits is None:
                return None
            if fits:
                spans.append(span)
                taken = end
        following = folded.find(bare[rank], max(at + 1, taken))
        if following >= 0:
            heappush(places, (following, rank))
    return None


def _fits(text: str, span: tuple[int, int], wanted: str, bare: str) -> bool | None:
    """Whether the wanted text with its edges stands at a span; ``None`` when it is not that simple."""
    start, end = span
    original = text[start:end]
    if not original.isascii() and original.lower() != bare:
        return None
    edge, passed = wanted.find(EDGE), 0
    while edge >= 0:
        place = start + edge - passed
        left = is_word(text[place - 1]) if place else False
        right = is_word(text[place]) if place < len(text) else False
        if left is None or right is None:
            return None
        if left == right:
            return False
        edge, passed = wanted.find(EDGE, edge + 1), passed + 1
    return True


def is_word(character: str) -> bool | None:
    """Whether a character is part of words; ``None`` for marks and for signs that are no punctuation.

    Where there is an answer, it is that of ``\\w``.
    """
    if character.isalpha() or character.isdecimal() or character == "_":
        return True
    if character.isascii() or unicodedata.category(character) in _APART:
        return False
    return None
