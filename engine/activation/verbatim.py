"""Matches patterns that list texts without a regular expression (design 4).

Compiling a regular expression takes longer than anything else done with a message, and a process for one
message has to import the package first. A pattern such as ``\\b(invoice|receipt)s?\\b`` is decided by where
its texts occur and what surrounds them. Unclear cases are left to the regular expression.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from engine.activation.literals import EDGE
from engine.activation.scan import Scan

_MAX_LOOKED_AT = 1_000
_APART = frozenset({"Po", "Pd", "Ps", "Pe", "Pi", "Pf", "Zs", "Zl", "Zp", "Sm", "Sc"})


def verbatim_spans(texts: Sequence[str], scan: Scan, limit: int) -> list[tuple[int, int]] | None:
    """The spans that a search for the pattern that lists some texts would find, in order, not overlapping.

    Args:
        texts: ``Needs.texts`` of the pattern.
        limit: Maximum number of spans.

    Returns:
        Spans in ``scan.text``; ``None`` if only the regular expression can decide, because letter case is not
        one to one or word edges are unclear.
    """
    folded = scan.folded
    bare = [text.replace(EDGE, "") for text in texts]
    places = [(at, rank) for rank, text in enumerate(bare) if (at := folded.find(text)) >= 0]
    heapify(places)
    spans: list[tuple[int, int]] = []
    taken = 0
    for _ in range(_MAX_LOOKED_AT):
        if not places or len(spans) == limit:
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
    """Whether the wanted text with its edges is at a span; ``None`` if unclear."""
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
    """Whether a character matches ``\\w``; ``None`` if unclear (marks, signs other than punctuation)."""
    if character.isalpha() or character.isdecimal() or character == "_":
        return True
    if character.isascii() or unicodedata.category(character) in _APART:
        return False
    return None
