"""Panel 2 of the search screen: a result in its file, with the surrounding lines dimmed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.errors import AutopoiesisError
from engine.search.sources import MAX_BYTES
from tui.kit.panel import LinesPanel
from tui.render.draw import Row, clip_start, joined_within, marked, wrap
from tui.render.roles import Roles
from tui.render.safe import visible
from tui.render.search_hits import Hit, lines_of, mark_of
from tui.render.search_words import Spans, Words
from tui.screens.search.overview import draw_help

if TYPE_CHECKING:
    from engine.search.results import SearchResult
    from engine.store.files import Files

AROUND = 120
"""Lines of context above and below that can be scrolled to."""
ABOVE = 3
"""Lines of context above the result that are visible at first."""
_LOG = ".jsonl"
_UPRIGHT = Style(underline=False)
_LONGEST = 4000

SOURCES = {"index": "from the index", "ripgrep": "found by ripgrep", "scan": "found by scanning files"}
"""Display names of the result sources."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file."""

    number: int
    """From 1; 0 if the text is not a line of the file."""
    text: str
    """Safe to display."""
    spans: Spans
    """Matches of the query's words."""
    inside: bool
    """Whether it is part of the result."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A result's lines with their context."""

    hit: Hit
    lines: tuple[Line, ...] = ()
    note: str = ""
    """A caveat, for example that the file has changed since."""


def read_passage(hit: Hit, words: Words, files: Files) -> Passage:
    """Reads a result's context from its file; falls back to the result's own text."""
    result = hit.result
    if result.path.lower().endswith(_LOG):
        lines = lines_of(result)
        place = f"lines {lines}" if "-" in lines else f"line {lines}"
        return Passage(hit, _own(result, words, 0), f"from a session log: this turn is on {place}")
    try:
        data = files.read(result.path, limit=MAX_BYTES)
    except FileNotFoundError:
        return Passage(hit, _own(result, words, result.start_line), "the file no longer exists")
    except (AutopoiesisError, OSError) as error:
        note = f"text from the index; the file cannot be read: {error}"
        return Passage(hit, _own(result, words, result.start_line), note)
    content = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    if content and not content[-1]:
        content.pop()
    first, last = result.start_line, result.end_line
    if "\n".join(content[first - 1 : last]).strip() != result.text.strip():
        return Passage(
            hit, _own(result, words, first), "the file has changed since; showing the indexed text"
        )
    start, end = max(1, first - AROUND), min(len(content), last + AROUND)
    return Passage(
        hit,
        tuple(
            _line(number, content[number - 1], words, inside=first <= number <= last)
            for number in range(start, end + 1)
        ),
    )


def _own(result: SearchResult, words: Words, first: int) -> tuple[Line, ...]:
    return tuple(
        _line(first + at if first else 0, text, words, inside=True)
        for at, text in enumerate(result.text.split("\n"))
    )


def _line(number: int, text: str, words: Words, *, inside: bool) -> Line:
    shown = visible(text[:_LONGEST]) + (f"… {len(text) - _LONGEST:,} more" if len(text) > _LONGEST else "")
    return Line(number, shown, words.spans(shown), inside)


def draw_passage(passage: Passage, width: int, roles: Roles) -> tuple[list[Row], int]:
    """Draws the numbered, wrapped lines; returns the rows and the index of the result's first row."""
    rows: list[Row] = []
    first = -1
    if passage.note:
        rows += [*wrap([(passage.note, roles.gate)], width), Row()]
        first = 0
    gutter = len(str(passage.lines[-1].number)) + 3 if passage.lines and passage.lines[-1].number else 2
    for line in passage.lines:
        if line.inside and first < 0:
            first = len(rows)
        rows.extend(_rows(line, gutter, width, roles))
    return rows, max(first, 0)


def _rows(line: Line, gutter: int, width: int, roles: Roles) -> list[Row]:
    """Wraps one line of the file and keeps its indent."""
    plain = roles.normal if line.inside else roles.faint
    mark = mark_of(roles) if line.inside else roles.tier1
    body = line.text.lstrip(" ")
    indent = min(len(line.text) - len(body), max(0, width - gutter) // 2)
    spans = [
        (start - len(line.text) + len(body), end - len(line.text) + len(body)) for start, end in line.spans
    ]
    rows = []
    place = 0
    for at, broken in enumerate(wrap([(body, plain)], width - gutter - indent)):
        # Wrap before marking, so that a marked word is not separated from what follows it.
        place = max(place, body.find(broken.text, place))
        here = [(start - place, end - place) for start, end in spans]
        part = Row(*marked(broken.text, [span for span in here if span[1] > 0], plain, mark))
        place += len(broken.text)
        number = str(line.number) if not at and line.number else ""
        row = Row().fit(number, gutter - 3, roles.muted if line.inside else roles.faint, "right")
        row.gap(1 if gutter > 2 else 0).add("▎" if line.inside else " ", roles.tier1 + _UPRIGHT).gap(
            1 + indent
        )
        rows.append(row.extend(part))
    return rows


class PreviewPanel(LinesPanel):
    """The selected result in its file, scrolled into view."""

    name_of = "preview"
    number = "2"
    words = "preview"
    signs = (("▎", "lines of the result; dimmed lines are its context"),)

    passage: Passage | None = None
    shows_help = meaning = False
    _first = 0

    @property
    def row_count(self) -> int:
        return int(self.passage is not None)

    def show(self, passage: Passage | None, *, help: bool, meaning: bool) -> None:
        """Shows a passage; a new result is scrolled into view.

        Args:
            help: Whether to show how to search if there is no passage.
            meaning: Whether semantic search is available.
        """
        if (passage, help, meaning) == (self.passage, self.shows_help, self.meaning):
            return
        before, self.passage, self.shows_help, self.meaning = self.passage, passage, help, meaning
        self.summarise()
        self.changed()
        if before is None or passage is None or before.hit.key != passage.hit.key:
            self.to_result()

    def to_result(self) -> None:
        """Scrolls so that the result starts a few lines below the top, or fills the panel."""
        if not self.size.height:
            return
        rows = len(self.lines())
        above = min(ABOVE, max(0, self.size.height - 4)) if self._first else 0
        top = max(0, min(self._first - above, rows - self.size.height))
        self.scroll_to(y=top, animate=False, force=True)

    def draw(self, width: int, height: int) -> list[Row]:
        if self.passage is not None:
            rows, self._first = draw_passage(self.passage, width, self.roles)
            return rows
        self._first = 0
        rows = draw_help(width, self.roles, meaning=self.meaning) if self.shows_help else []
        return rows if len(rows) <= height else [row for row in rows if row.cells]

    def summarise(self) -> None:
        """Shows path and lines beside the title; category, date and source below."""
        passage = self.passage
        if passage is None:
            self.set_frame()
            return
        result = passage.hit.result
        lines = f":{lines_of(result)}"
        room = self.size.width - cell_len(self.words) - cell_len(lines) - 6
        beside = clip_start(result.path, max(12, room)) + lines
        below = [result.category, result.date, SOURCES[result.source]]
        self.set_frame(beside, joined_within([visible(part) for part in below if part], self.size.width - 10))

    def on_resize(self) -> None:
        super().on_resize()
        self.to_result()

    def selected_text(self) -> str:
        """The result and its context as plain text."""
        passage = self.passage
        return "\n".join(line.text for line in passage.lines) if passage is not None else ""
