"""Cuts what a search finds in a conversation to whole passages, which can be read on their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.search.passages import is_shown, prose
from engine.search.query import literal_terms
from engine.search.talk import telling

if TYPE_CHECKING:
    from engine.search.results import SearchResult

_LEAST_CHARACTERS = 320
"""About 80 tokens, up to which a passage is joined with the paragraphs around it."""
_REMARK_WORDS = 3
_MOST_CHARACTERS = 1_200
"""About 300 tokens."""


def whole_passages(results: Iterable[SearchResult], query: str) -> Iterator[SearchResult]:
    """The results in their order, those of conversations as whole paragraphs of prose, of 80 to 300 tokens
    unless the turn is shorter. What a program printed, and code, is left out.

    Args:
        query: Its words decide which paragraphs of a longer text are kept.
    """
    asked = set(literal_terms(query.casefold()))
    for result in results:
        if result.category != "conversation":
            yield result
            continue
        lines = result.text.split("\n")
        groups = prose(lines)
        if not groups:
            if _is_remark(result.text) and not any(map(is_shown, lines)):
                yield result
            continue
        first, last = _around_best(lines, groups, asked)
        text = "\n".join(lines[first:last]).strip("\n")
        is_numbered = len(lines) == result.end_line - result.start_line + 1
        start = result.start_line + (first if is_numbered else 0)
        end = result.start_line + last - 1 if is_numbered else result.end_line
        yield replace(result, text=text, start_line=start, end_line=end)


def _is_remark(text: str) -> bool:
    """Whether a text is short, and says something on its own."""
    return len(text) < _LEAST_CHARACTERS and len(telling(literal_terms(text))) >= _REMARK_WORDS


def _around_best(lines: Sequence[str], groups: Sequence[tuple[int, int]], asked: set[str]) -> tuple[int, int]:
    """The half-open lines of the group with the most words asked for, and of those next to it while there is
    room.
    """
    texts = ["\n".join(lines[first:last]) for first, last in groups]
    shared = [len(asked.intersection(literal_terms(text.casefold()))) for text in texts]
    low = high = max(range(len(groups)), key=lambda at: (shared[at], -at))
    size = len(texts[low])
    while size < _LEAST_CHARACTERS:
        near = [at for at in (high + 1, low - 1) if 0 <= at < len(groups)]
        at = next((at for at in near if size + len(texts[at]) <= _MOST_CHARACTERS), None)
        if at is None or not _is_next(groups, at, low, high):
            break
        low, high, size = min(low, at), max(high, at), size + len(texts[at])
    return groups[low][0], groups[high][1]


def _is_next(groups: Sequence[tuple[int, int]], at: int, low: int, high: int) -> bool:
    """Whether nothing but prose stands between a group and those chosen."""
    return groups[at][0] == groups[high][1] if at > high else groups[at][1] == groups[low][0]
