"""A search result in two or three lines: rank, what it is, where it stands, its best lines, its score."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

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
"""Cells of a title that its place has to leave when both share a line."""
_SESSION = re.compile(r"(?:^|/)\d{4}-(ses_[^/-]+)-([^/]+)\.\w+$")
_SNIPPET = 1200
_BESIDE = 68
"""Cells of a result of two lines from which its place has room beside its title."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A result as the list shows it; all of its texts are safe to show."""

    rank: int
    """From 1."""
    result: SearchResult
    title: str
    """Its heading, with the name of its session or file where that alone says little."""
    place: str
    """Path and lines, or session and line."""
    snippet: str
    """Its best lines as one."""
    title_spans: Spans = ()
    """The query's words in the title."""
    spans: Spans = ()
    """The query's words in the snippet."""
    matched: tuple[str, ...] = ()
    """Words of the query that stand in the text, the heading or the path."""
    missing: tuple[str, ...] = ()
    """The others."""

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells it from every other result."""
        return (self.result.path, self.result.start_line, self.result.end_line)


def hit_of(rank: int, result: SearchResult, words: Words) -> Hit:
    """Prepares a result for the list; looks for the words, so it is called off the screen's thread."""
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
    """What a result is about: its heading, led by its session's or its file's name where it needs one."""
    heading = first_line(result.heading)
    session = _SESSION.search(result.path)
    if session:
        return visible(f"{session[2]} › {heading}" if heading else session[2])
    name = result.path.rpartition("/")[2].rpartition(".")[0] or result.path
    return heading or visible(name)


def place_of(result: SearchResult) -> str:
    """Path and lines; of a captured session its id and line, since its path is mostly date and name."""
    session = _SESSION.search(result.path)
    return visible(f"{session[1] if session else result.path}:{lines_of(result)}")


def mark_of(roles: Roles) -> Style:
    """How a word of the query looks wherever it stands: more than a colour tells it."""
    return roles.tier1 + Style(bold=True)


def hit_rows(hit: Hit, width: int, lines: int, roles: Roles, *, chosen: bool = False) -> list[Row]:
    """Draws a result in exactly ``lines`` lines of at most ``width`` cells; with two, the place gives way.

    Args:
        width: Cells, without the selection mark.
        lines: 2 or 3.
    """
    value = score(hit.result.score)
    words = roles.strong if chosen else roles.normal
    head = Row().fit(f"{hit.rank} ", RANK, roles.muted, "right")
    tail = Row()
    if lines < 3 and width >= _BESIDE:
        most = width - RANK - min(TITLE, cell_len(hit.title)) - len(value) - 3
        tail.add(clip_start(_brief(hit), most), roles.muted).gap(2)
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
    """The place with its date, for one line with the title."""
    date = hit.result.date
    return f"{hit.place}  {visible(date)}" if date and date not in hit.place else hit.place


def _where(hit: Hit, width: int, roles: Roles) -> Row:
    """The second of three lines: the place, and on the right kind and date."""
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
    """The part of the snippet to show: its beginning, or from just before the first word that was found."""
    snippet = hit.snippet
    first = hit.spans[0] if hit.spans else (0, 0)
    if cell_len(snippet[: first[1]]) <= room - 1:
        return clip(snippet, room), 0
    start = max(0, first[0] - room // 3)
    space = snippet.find(" ", start, first[0])
    start = space + 1 if space >= 0 else start
    return "…" + clip(snippet[start:], room - 1), start - 1
