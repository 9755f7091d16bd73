"""A search result in two or three lines: rank, title, place, best lines, score."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.store.paths import transcript_name
from tui.render.draw import Piece, Row, clip, clip_start, marked
from tui.render.figures import score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible
from tui.render.search_words import Spans, Words

if TYPE_CHECKING:
    from engine.search.results import SearchResult

RANK = 4
"""Cells of the rank's column."""
TITLE = 30
"""Minimum cells for the title if it shares a line with the place."""
_SNIPPET = 1200
_BESIDE = 68
"""Minimum width for the place next to the title in two-line results."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A result in the list; its texts are safe to show."""

    rank: int
    """From 1."""
    result: SearchResult
    title: str
    """Its heading, with the name of its session or file if needed."""
    place: str
    """Path and lines, or session and line."""
    snippet: str
    """Its best lines, joined."""
    title_spans: Spans = ()
    """The query's words in the title."""
    spans: Spans = ()
    """The query's words in the snippet."""
    matched: tuple[str, ...] = ()
    """Query words found in text, heading or path."""
    missing: tuple[str, ...] = ()
    """Query words not found."""

    @property
    def key(self) -> tuple[str, int, int]:
        return (self.result.path, self.result.start_line, self.result.end_line)


def hit_of(rank: int, result: SearchResult, words: Words) -> Hit:
    """Prepares a result for the list. Searches for words, so call it off the screen's thread."""
    title, place = title_of(result), place_of(result)
    snippet = visible(" ".join(result.snippet.split()), _SNIPPET)
    matched = words.within(result.text, result.heading, re.sub(r"[\W_]+", " ", result.path))
    return Hit(
        rank,
        result,
        title,
        place,
        snippet,
        words.spans(title),
        words.spans(snippet),
        matched,
        tuple(term for term in words.terms if term not in matched),
    )


def lines_of(result: SearchResult) -> str:
    """``12`` or ``12-18``."""
    start, end = result.start_line, result.end_line
    return str(start) if end <= start else f"{start}-{end}"


def title_of(result: SearchResult) -> str:
    """The heading, preceded by the session's name, or else the file's name."""
    heading = first_line(result.heading)
    session, name = _named(result.path)
    if session:
        return visible(f"{name} › {heading}" if heading else name)
    return heading or visible(name)


def place_of(result: SearchResult) -> str:
    """Path and lines; for sessions, the start of the id and lines, as the path is mostly date and name. Ends
    with the number of other places with the same text.
    """
    session, _ = _named(result.path)
    more = f" and {result.copies} equal" if result.copies else ""
    return visible(f"{session.partition('-')[0] or result.path}:{lines_of(result)}{more}")


def _named(path: str) -> tuple[str, str]:
    """The session id in a transcript's path, and its slug; otherwise no id and the file's name."""
    return transcript_name(path.rpartition("/")[2].rpartition(".")[0] or path)


def mark_of(roles: Roles) -> Style:
    """The style of query words; it differs by more than colour."""
    return roles.tier1 + Style(bold=True)


def hit_rows(hit: Hit, width: int, lines: int, roles: Roles, *, chosen: bool = False) -> list[Row]:
    """Draws a result in ``lines`` lines, 2 or 3; with two, title and place share a line."""
    value = score(hit.result.score)
    words = roles.strong if chosen else roles.normal
    head = Row().fit(f"{hit.rank} ", RANK, roles.muted, "right")
    tail = Row()
    if lines < 3 and width >= _BESIDE:
        room = width - RANK - min(TITLE, cell_len(hit.title)) - len(value) - 3
        tail.add(clip_start(_brief(hit), room), roles.muted).gap(2)
    tail.add(value, roles.tier2)
    title = clip(hit.title, width - RANK - tail.cells - 1)
    for piece, style in _cut_marks(title, hit.title, hit.title_spans, words, roles):
        head.add(piece, style)
    head.right(tail, width)
    rows = [head]
    if lines >= 3:
        rows.append(_where(hit, width, roles))
    snippet, offset = _window(hit, width - RANK)
    spans = tuple((start - offset, end - offset) for start, end in hit.spans)
    row = Row().gap(RANK)
    for piece, style in marked(snippet, spans, roles.normal if chosen else roles.muted, mark_of(roles)):
        row.add(piece, style)
    rows.append(row)
    return rows


def _cut_marks(title: str, whole: str, spans: Spans, words: Style, roles: Roles) -> list[Piece]:
    kept = len(title) if title == whole else len(title) - 1
    return marked(title, [(start, min(end, kept)) for start, end in spans], words, mark_of(roles))


def _brief(hit: Hit) -> str:
    """Place and date, for the title's line."""
    date = hit.result.date
    return f"{hit.place}  {visible(date)}" if date and date not in hit.place else hit.place


def _where(hit: Hit, width: int, roles: Roles) -> Row:
    """The second of three lines: place, and kind and date on the right."""
    result = hit.result
    kind, date = visible(result.category), visible(result.date)
    row = Row().gap(RANK).add(clip_start(hit.place, width - RANK), roles.faint)
    about = Row((kind, roles.faint))
    if date and date not in hit.place:
        dated = Row((date, roles.muted))
        both = Row((kind, roles.faint)).gap(2).extend(dated)
        about = both if row.cells + 1 + both.cells <= width else dated
    return row.right(about, width)


def _window(hit: Hit, room: int) -> tuple[str, int]:
    """The part of the snippet to show, and its offset: the start, or from just before the first match."""
    snippet = hit.snippet
    first = hit.spans[0] if hit.spans else (0, 0)
    if cell_len(snippet[: first[1]]) <= room - 1:
        return clip(snippet, room), 0
    start = max(0, first[0] - room // 3)
    space = snippet.find(" ", start, first[0])
    start = space + 1 if space >= 0 else start
    return "…" + clip(snippet[start:], room - 1), start - 1
