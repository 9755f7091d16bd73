"""What the search screen shows besides results: files, help, errors, a result in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.errors import AutopoiesisError
from engine.search.sources import MAX_BYTES
from tui.kit.bars import Bar
from tui.kit.panel import LinesPanel
from tui.render.draw import Row, bar, clip, clip_start, joined_within, labelled, marked, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line, visible
from tui.render.search import Hit, Spans, Words, lines_of, mark_of

if TYPE_CHECKING:
    from engine.search.reports import IndexStatus
    from engine.search.results import SearchResult
    from engine.store.files import Files

KINDS: dict[str, str] = {
    "identity": "identity",
    "memory": "memory",
    "journal": "journal",
    "project": "projects",
    "person": "people",
    "procedure": "procedures",
    "reference": "reference",
    "conversation": "conversations",
    "topic": "topics",
    "knowledge": "knowledge",
    "shared": "shared",
    "archive": "archive",
}
"""Display names of the categories, in display order."""
_NAME = 15
_NUMBER = 7
_BAR = 28
_BETWEEN = 4

HELP = (
    ("Type words, names, numbers or whole sentences. There are no operators.", ""),
    ("Every form of a word matches.", ""),
    ("Dates work too: yesterday, last week, in March, 2026-06-10.", ""),
    ("c", "restricts the search to one kind of file"),
    ("enter", "goes to the results; / returns here"),
    ("w", "shows why a result ranks where it does"),
    ("esc", "closes the screen; the query is kept"),
)
"""How to search, shown in the empty preview."""
MEANING = "So does text with the same meaning."
AROUND = 120
"""Lines of context above and below that can be scrolled to."""
ABOVE = 3
"""Lines of context above the result that are visible at first."""
_LOG = ".jsonl"
_LONGEST = 4000
SOURCES = {"index": "from the index", "scan": "found by scanning files"}
"""Display names of the result sources."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What can be searched."""

    status: IndexStatus
    files: Mapping[str, int] = field(default_factory=dict)
    """Files on disk per category."""


def draw_overview(
    inventory: Inventory | None, only: str, width: int, roles: Roles, height: int = 40
) -> list[Row]:
    """Draws the number of searchable files per category.

    Args:
        inventory: ``None`` while it is being read.
        only: The category the search is restricted to; empty for all.
        height: If there are too few lines, two categories share one.
    """
    if inventory is None:
        return [Row(("reading …", roles.faint))]
    total = sum(inventory.files.values())
    if not total:
        return [
            Row(("Nothing to search yet.", roles.normal)),
            Row(),
            *wrap(
                [
                    ("Knowledge, journals, topics and conversations appear here as they are written. ",
                     roles.muted),
                    ("autopoiesis import", roles.accent),
                    (" imports past sessions.", roles.muted),
                ],
                width,
            ),
        ]  # fmt: skip
    status = inventory.status
    head = Row((count(total), roles.strong), (" file" if total == 1 else " files", roles.muted))
    if status.state == "ready":
        unit = " passage" if status.chunks == 1 else " passages"
        head.add(" · ", roles.faint).add(count(status.chunks), roles.strong).add(unit, roles.muted)
        if status.vectors:
            words = " · keyword and semantic search" if head.cells + 30 <= width else ""
            head.add(words, roles.muted)
    rows = [head.cut(width), Row()]
    kinds = [kind for kind in KINDS if inventory.files.get(kind) or kind == only]
    columns = 2 if len(kinds) + len(rows) > height else 1
    each = (width - _BETWEEN) // 2 if columns == 2 else width
    maximum = max(inventory.files.values())
    cells = [_kind(kind, inventory.files.get(kind, 0), maximum, only, each, roles) for kind in kinds]
    down = -(-len(cells) // columns)
    for left, right in zip_longest(cells[:down], cells[down:]):
        rows.append(left if right is None else left.to(each + _BETWEEN).extend(right))
    if only:
        rows += [Row()] * (columns == 1)
        rows.append(Row((f"only {KINDS.get(only, only)}", roles.gate), (" · esc searches all", roles.muted)))
    if status.skipped:
        skipped = f"{plural(len(status.skipped), 'file')} could not be indexed; autopoiesis index lists them"
        rows += [Row(), *wrap([(skipped, roles.gate)], width)]
    return rows


def _kind(kind: str, number: int, maximum: int, only: str, width: int, roles: Roles) -> Row:
    """A category's name, a gauge and its file count."""
    here = kind == only
    words = roles.normal if here or not only else roles.faint
    tone = roles.tier1 if here else roles.dropped if not only else roles.line
    row = Row().fit(KINDS[kind], _NAME, words)
    row.extend(bar(number / maximum, max(0, min(_BAR, width - _NAME - _NUMBER - 1)), tone, roles.line))
    return row.fit(count(number), _NUMBER, words, "right")


def draw_help(width: int, roles: Roles, *, meaning: bool) -> list[Row]:
    """Draws how to search; ``meaning`` says whether semantic search is available."""
    rows: list[Row] = []
    for text, description in HELP:
        if description:
            rows += labelled(text, description, width, 8, roles.muted, tone=roles.accent)
        else:
            more = f" {MEANING}" if meaning and text.startswith("Every form") else ""
            rows += [*wrap([(text + more, roles.muted)], width), Row()]
    return rows


def draw_nothing(
    query: str, only: str, elsewhere: int, more: bool, status: IndexStatus | None, width: int, roles: Roles
) -> list[Row]:
    """Draws that nothing was found, with suggestions.

    Args:
        only: The category searched; empty for all.
        elsewhere: The number of results in all categories.
        more: Whether there are more than that.
    """
    place = f" in {KINDS.get(only, only)}" if only else ""
    shown = first_line(query, 200)
    rows = [*wrap([(f"No results{place} for ", roles.normal), (shown, roles.strong)], width), Row()]
    advice: list[tuple[str, str]] = []
    if only and elsewhere:
        advice.append(("esc", f"search everything: {count(elsewhere)}{'+' if more else ''} found"))
    elif only:
        advice.append(("esc", "search everything: no results there either"))
    advice.append(("/", "try fewer or different words"))
    if status is not None and status.state == "ready" and status.without_vectors:
        advice.append(
            ("", "Only keyword search is available, so a form of each word must occur in the text.")
        )
    if not any(character.isalnum() for character in query):
        advice.append(("", "Punctuation is ignored: type at least one letter or digit."))
    for key, words in advice:
        rows += labelled(key, words, width, 5 if key else 0, roles.muted, tone=roles.accent)
    return rows


def draw_error(problem: str, width: int, roles: Roles) -> list[Row]:
    return [
        Row(("The search failed.", roles.error)),
        Row(),
        *wrap([(problem, roles.normal)], width),
        Row(),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


def counted(shown: int, more: bool) -> str:
    """The number of results as far as known: ``12 found``, ``first 50``."""
    return f"first {count(shown)}" if more else f"{count(shown)} found"


_UPRIGHT = Style(underline=False)


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


class PreviewPanel(LinesPanel, panel="preview", number="2"):
    """The selected result in its file, scrolled into view."""

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


class NoticeBar(Bar):
    """One line, hidden when there is nothing to report."""

    words, urgent = "", False

    def show(self, status: IndexStatus | None, *, read_only: bool) -> None:
        content = notice(status, read_only=read_only)
        if content != (self.words, self.urgent):
            self.words, self.urgent = content
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        roles = self.roles
        sign, tone = ("! ", roles.gate) if self.urgent else ("· ", roles.muted)
        return [Row((sign, tone), (clip(self.words, width - 2), tone))]


def notice(status: IndexStatus | None, *, read_only: bool = False) -> tuple[str, bool]:
    """The notice text and whether results are affected; empty if the index is fine."""
    if status is None:
        return "", False
    if status.state != "ready":
        reason = first_line(status.why) or "the search index cannot be used"
        if status.error:
            return f"{reason}, and rebuilding failed: {first_line(status.error)} · searching files", True
        period = "" if read_only else " until it is ready"
        return f"{reason}: searching files by keyword{period}", True
    if status.without_vectors:
        return f"keyword search only: {first_line(status.without_vectors)}", False
    if status.vectors_coming:
        return f"semantic search is incomplete: {first_line(status.vectors_coming)}", False
    return "", False
