"""Passages of past sessions, which may be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.recall.labels import Place
from engine.search.results import SearchResult
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.search.index import SearchIndex
    from engine.search.past import Past

_EMPTY = expression(r"\s*[-=*_]*\s*$")
"""A line that only sets apart what follows it."""
_HEADS = expression(r"\s*(?:#{1,6} .*|\*\*[^*]+\*\*:?|[-=*_]*)\s*$")
"""A heading, or such a line: at the end it heads what is not told."""


def place_of(result: SearchResult) -> Place:
    """Where a passage is."""
    return Place(result.path, result.start_line)


def passage_of(
    index: SearchIndex, past: Past, row: int, worth: float = 0.0, why: str = ""
) -> SearchResult | None:
    """A row of ``Past.passages`` with its text; ``None`` while the index cannot answer."""
    number, position, first, last, _ = past.passages[row].tolist()
    session = past.sessions[number]
    for start, end, speaker, heading, date, text in index.turns(session.file, position):
        lines = text.split("\n")
        while first < last and _EMPTY.match(lines[first]):
            first += 1
        while first < last and _HEADS.match(lines[last]):
            last -= 1
        return SearchResult(
            path=session.path,
            start_line=min(start + first, end),
            end_line=min(start + last, end),
            category="conversation",
            heading=heading,
            date=date,
            snippet="",
            text="\n".join(lines[first : last + 1]).strip("\n"),
            score=worth,
            lexical_rank=None,
            vector_rank=None,
            source="index",
            why=why,
            speaker=speaker,
            worth=worth,
        )
    return None
