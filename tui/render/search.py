"""Search results, the query words in them, and why each ranks where it does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.search import matches
from engine.search.query import literal_terms
from engine.store.paths import transcript_name
from tui.render.draw import FILL, TRACK, Piece, Row, clip, clip_start, labelled, marked, shares
from tui.render.figures import score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible

if TYPE_CHECKING:
    from engine.search.results import SearchResult, Share

Spans = tuple[tuple[int, int], ...]
"""Half-open character spans, in order."""
RANK = 4
"""Cells of the rank's column."""
TITLE = 30
"""Minimum cells for the title if it shares a line with the place."""
_SNIPPET = 1200
_BESIDE = 68
"""Minimum width for the place next to the title in two-line results."""
BACK = "░"
"""Fill of negative parts of the score."""
LABEL = 11
"""Cells for the names of the parts."""
_VALUE = 6
_WIDEST = 60
MEANINGS: dict[str, str] = {
    "words": "query words it contains",
    "meaning": "similarity in meaning",
    "neighbours": "surrounding text",
    "session": "the whole session",
    "file": "the whole file",
    "speaker": "who said it",
    "date": "dates in the query",
    "recency": "its age",
    "use": "how often it was used",
}
"""A short explanation of each part."""


class Words:
    """The significant words of one query, ``terms``, in order; not thread-safe."""

    def __init__(self, query: str) -> None:
        self.terms = literal_terms(query)
        self._finder = matches.Finder(self.terms)

    def spans(self, text: str) -> Spans:
        """The spans of the words in a text."""
        found: list[tuple[int, int]] = []
        for start, end, _stem in self._finder.find(text).spans:
            if found and start < found[-1][1]:  # pairs of Chinese characters overlap
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return tuple(found)

    def within(self, *texts: str) -> tuple[str, ...]:
        """The words found in at least one of the texts."""
        found = {term for text in texts for term in self._finder.find(text).terms}
        return tuple(term for term in self.terms if term in found)


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
    wordless: bool = False
    """No result has any of the query's words; the score, which is relative to the best, says nothing."""

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
    value = "" if hit.wordless else score(hit.result.score)
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


_UPRIGHT = Style(underline=False)


def draw_why(hit: Hit, width: int, roles: Roles, *, tight: bool = False) -> list[Row]:
    """Draws the explanation; ``tight`` leaves out the sum and blank lines."""
    result = hit.result
    rows = _parts(result, width, roles) if result.shares else []
    if rows and tight:
        rows.pop()
    elif rows:
        rows.append(Row())
    rows.extend(_ranks(result, width, roles))
    rows.extend(_words(hit, width, roles))
    return rows


def _parts(result: SearchResult, width: int, roles: Roles) -> list[Row]:
    """A waterfall of gauges, one per part, with the score below; negative parts come last."""
    parts = sorted(result.shares, key=lambda part: -part.value)
    value, total = hundredths([part.value for part in parts], result.score)
    room = max(8, min(width - LABEL - _VALUE, _WIDEST))
    means = width - LABEL - _VALUE - room >= 28
    whole = max(1, sum(_micro(part) for part in parts if part.value > 0))
    cells = shares([max(0, _micro(part)) for part in parts], whole, room)
    rows, at = [], 0
    for part, number, long in zip(parts, value, cells, strict=True):
        tone, sign = _tone(part.name, roles), FILL
        if part.value < 0:
            long = min(at, max(1, round(-_micro(part) * room / whole))) if number else 0
            at, tone, sign = at - long, roles.dropped, BACK
        name = part_name(part, result)
        row = Row().fit(name, LABEL, roles.normal)
        row.add(TRACK * at, roles.line).add(sign * long, tone).add(TRACK * (room - at - long), roles.line)
        row.fit(signed(number), _VALUE, roles.normal, "right")
        if means:
            row.gap(2).add(MEANINGS.get(name, ""), roles.faint)
        rows.append(row)
        at = at + long if part.value > 0 else at
    last = Row().fit("score", LABEL, roles.strong).gap(room).fit(signed(total), _VALUE, roles.strong, "right")
    return [*rows, last]


def part_name(part: Share, result: SearchResult) -> str:
    """A part's name; the ``session`` part of anything but a conversation is called ``file``."""
    return "file" if part.name == "session" and result.category != "conversation" else part.name


def _micro(part: Share) -> int:
    return round(part.value * 1_000_000)


def hundredths(parts: Sequence[float], whole: float) -> tuple[list[int], int]:
    """Rounds parts to hundredths so that they add up to the rounded whole."""
    total = round(whole * 100)
    down = [int(part * 100 // 1) for part in parts]
    order = sorted(range(len(parts)), key=lambda at: down[at] - parts[at] * 100)
    for at in order[: max(0, total - sum(down))]:
        down[at] += 1
    return down, total


def signed(number: int) -> str:
    """Hundredths as a score is written: ``.42``, ``1.0``, ``−.03``."""
    return f"−{score(-number / 100)}" if number < 0 else score(number / 100)


def _tone(name: str, roles: Roles) -> Style:
    """The colours of tiers 1 and 2 for words and meaning; one colour for everything else."""
    return {"words": roles.tier1 + _UPRIGHT, "meaning": roles.tier2}.get(name, roles.p4)


def _ranks(result: SearchResult, width: int, roles: Roles) -> list[Row]:
    words = _rank("by words", result.lexical_rank, roles.tier1 + _UPRIGHT, roles)
    meaning = _rank("by meaning", result.vector_rank, roles.tier2, roles)
    rows = [Row(("rank", roles.muted)).to(LABEL).extend(words).add("  ·  ", roles.faint).extend(meaning)]
    if rows[0].cells > width:
        rows = [Row(("rank", roles.muted)).to(LABEL).extend(words), Row().gap(LABEL).extend(meaning)]
    if result.why:
        rows += labelled("because", result.why, width, LABEL, roles.normal, tone=roles.muted)
    return rows


def _rank(words: str, rank: int | None, tone: Style, roles: Roles) -> Row:
    return Row((f"{words} ", roles.muted), (str(rank), tone) if rank else ("–", roles.faint))


def _words(hit: Hit, width: int, roles: Roles) -> list[Row]:
    """The query words it contains, and those it does not."""
    rows: list[Row] = []
    for name, terms, sign, style in (
        ("contains", hit.matched, "✓", roles.tier1 + Style(bold=True)),
        ("lacks", hit.missing, "✗", roles.muted),
    ):
        if not terms:
            continue
        row = Row((name, roles.muted)).to(LABEL)
        for number, term in enumerate(terms):
            word = f"{sign} {visible(term)}"
            if row.cells > LABEL and row.cells + 2 + cell_len(word) > width:
                rest = len(terms) - number
                rows.append(row)
                row = Row().gap(LABEL)
                if len(rows) > 5:
                    row.add(f"and {rest} more", roles.faint)
                    break
            row.gap(2 if row.cells > LABEL else 0).add(word, style)
        rows.append(row)
    return rows


def plain_shares(result: SearchResult) -> str:
    """The parts of the score in one line: ``words .42 + meaning .25 − recency .03 = .64``."""
    if not result.shares:
        return ""
    parts = sorted(result.shares, key=lambda part: -part.value)
    numbers, total = hundredths([part.value for part in parts], result.score)
    line = "".join(
        f" {'−' if number < 0 else '+'} {part_name(part, result)} {score(abs(number) / 100)}"
        for part, number in zip(parts, numbers, strict=True)
    )
    return f"{line.removeprefix(' + ').lstrip()} = {signed(total)}"


def plain_ranks(result: SearchResult) -> str:
    """Both ranks in one line: ``rank 2 by words, 7 by meaning``."""
    words, meaning = result.lexical_rank, result.vector_rank
    return f"rank {words or '–'} by words, {meaning or '–'} by meaning"
