"""Panel 2 of the context screen, what is above the lists and texts, and how two prompts differ.

Line breaks of a text are computed for the whole of it; lines are drawn only when visible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len, split_graphemes
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Size
from textual.strip import Strip

from engine.context.compiled import LAYERS, Compiled, LeftOut, Section
from engine.context.difference import ChangeKind, Difference, SectionChange
from engine.context.difference import compare as difference_of
from engine.context.stability import Break
from tui.kit.bars import Bar
from tui.kit.panel import Panel
from tui.render.budget import place
from tui.render.budget import place as place_of
from tui.render.draw import Piece, Row, clip, labelled
from tui.render.figures import clock, count, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible
from tui.render.shown import Shown
from tui.screens.context.lists import (
    HeadItem,
    ListItem,
    RuleItem,
    SectionItem,
    Sign,
    draw_rule,
    kind_of,
    matches,
    sign_style,
)

if TYPE_CHECKING:
    from engine.engine import Engine


Part = tuple[int, int, int]
"""A panel line: index of the text line, start and end character."""
RULE = -1
"""Start and end character of the rule above a line."""
Head = Callable[[int, Roles], Sequence[Row]]
CACHED_LINES = 2048


@dataclass(frozen=True, slots=True, eq=False)
class TextPage:
    lines: Sequence[str]
    """Safe to display."""
    numbers: Sequence[int] = ()
    """The number of each line, 0 for none; empty for no numbers at all."""
    signs: Sequence[str] = ()
    """In a diff: ``+``, ``-``, a space, or ``@`` for a position; empty for other texts."""
    markers: frozenset[int] = frozenset()
    """Lines that are section markers."""
    lit: tuple[int, int] = (0, 0)
    """The lines of the selected section, end exclusive; ``(0, 0)`` highlights none."""
    rule: tuple[int, RuleItem | None] = (0, None)
    """The first line after the stable prefix, 0 for none, and its rule."""


def parts_of(lines: Sequence[str], width: int) -> list[Part]:
    """Breaks lines to fit ``width`` cells; the space at a break is dropped."""
    width = max(4, width)
    parts: list[Part] = []
    for at, line in enumerate(lines):
        if len(line) <= width and (line.isascii() or cell_len(line) <= width):
            parts.append((at, 0, len(line)))
        elif line.isascii():
            parts.extend((at, start, end) for start, end in _broken(line, width))
        else:
            parts.extend((at, start, end) for start, end in _broken_wide(line, width))
    return parts


def _broken(line: str, width: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start, size = 0, len(line)
    while size - start > width:
        blank = line.rfind(" ", start + 1, start + width + 1)
        end = blank if blank > start + width // 3 else start + width
        found.append((start, end))
        start = end + 1 if line[end] == " " else end
    return [*found, (start, size)]


def _broken_wide(line: str, width: int) -> list[tuple[int, int]]:
    """Like ``_broken``, for lines with characters that are not one cell wide."""
    found: list[tuple[int, int]] = []
    begin = cells = 0
    blank = -1
    for start, end, size in split_graphemes(line)[0]:
        if cells + size > width and start > begin:
            if line[start:end] == " ":
                found.append((begin, start))
                begin, cells, blank = end, 0, -1
                continue
            cut = blank if blank > begin else start
            found.append((begin, cut))
            begin = cut + 1 if cut == blank else cut
            cells, blank = cell_len(line[begin:start]), -1
        if line[start:end] == " ":
            blank = start
        cells += size
    return [*found, (begin, len(line))]


def diff_lines(lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Splits a unified diff into signs (``@`` for a position) and lines without signs, safe to display."""
    signs = tuple(line[:1] for line in lines)
    return signs, tuple(visible(line if line.startswith("@@") else line[1:]) for line in lines)


def gutter_of(page: TextPage) -> int:
    """Cells for line numbers or signs, including the spaces after them."""
    if page.signs:
        return 2
    return len(str(max(page.numbers))) + 2 if any(page.numbers) else 0


def draw_part(page: TextPage, part: Part, gutter: int, roles: Roles) -> Row:
    at, start, end = part
    row = Row()
    line = page.lines[at]
    style = _style(page, at, line, roles)
    if page.signs:
        row.fit(page.signs[at] if page.signs[at] in "+-" and not start else "", gutter, style)
    elif gutter:
        number = page.numbers[at] if at < len(page.numbers) and not start else 0
        row.fit(str(number) if number else "", gutter - 2, roles.faint, "right").gap(2)
    return row.add(line[start:end], style)


def _style(page: TextPage, at: int, line: str, roles: Roles) -> Style:
    if page.signs:
        return {"+": sign_style("+", roles), "-": sign_style("-", roles), "@": roles.tier2}.get(
            page.signs[at], roles.muted
        )
    first, end = page.lit
    if at in page.markers:
        return roles.accent if first <= at < end else roles.faint
    if end and not first <= at < end:
        return roles.muted
    return roles.strong if line.startswith("#") else roles.normal


class TextPanel(Panel, panel="text", number="2"):
    """Panel 2: a fixed head with facts about a section, and its scrolling text.

    Lines are drawn only when visible, so a prompt of a million tokens costs no more than a screenful.
    """

    page = TextPage(())
    head: tuple[Row, ...] = ()
    _title = ""
    _draw_head: Head | None = None
    _wanted: int | None = None
    _broken_for: tuple[Sequence[str], int, int, int] | None = None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._parts: list[Part] = []
        self._cache: LRUCache[int, Strip] = LRUCache(CACHED_LINES)

    @property
    def row_count(self) -> int:
        return len(self.page.lines)

    def show(
        self, page: TextPage, head: Head | None = None, title: str = "", *, line: int | None = 0
    ) -> None:
        """Shows a new text.

        Args:
            head: Draws the fixed lines above it for a width.
            title: Shown beside the panel's name.
            line: The first visible line; ``None`` keeps the scroll position.
        """
        self.page, self._draw_head, self._title = page, head, title
        if line is not None:
            self._wanted = line
        self.on_resize()

    def on_resize(self) -> None:
        self._cache.clear()
        self._lay_out()
        self.refresh()

    def _lay_out(self) -> None:
        """Breaks the lines for the current width and scrolls to the wanted line."""
        page, width = self.page, self.size.width
        if not width:  # hidden: done when it is shown again
            self._parts, self._broken_for = [], None
            return
        self.head = tuple(self._draw_head(width, self.roles)) if self._draw_head is not None else ()
        before, now = self._broken_for, (page.lines, width, gutter_of(page), page.rule[0])
        if before is None or before[0] is not now[0] or before[1:] != now[1:]:
            if self._wanted is None and before is not None:
                self._wanted = self.line_in_view
            self._broken_for = now
            self._parts = parts_of(page.lines, width - gutter_of(page))
            if page.rule[0]:
                self._parts.insert(self._row_of(page.rule[0]), (page.rule[0], RULE, RULE))
        self.virtual_size = Size(width, len(self.head) + len(self._parts))
        if self._wanted is not None:
            line, self._wanted = self._wanted, None
            self.scroll_to(y=self._row_of(line), animate=False, force=True)
        self.summarise()

    def _row_of(self, line: int) -> int:
        return bisect_left(self._parts, line, key=itemgetter(0))

    def summarise(self) -> None:
        """Shows the title and the range of visible lines."""
        room = self.size.height - len(self.head)
        total, top = len(self._parts), self.scroll_offset.y
        last = min(total, top + room)
        position = f"{count(top + 1)}–{count(last)} of {count(total)}" if total > room > 0 else ""
        self.set_frame(self._title, position)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.summarise()

    @property
    def line_in_view(self) -> int:
        """The text line at the top of the panel, counted from 0."""
        top = self.scroll_offset.y
        return self._parts[min(top, len(self._parts) - 1)][0] if self._parts else 0

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._cache.clear()
        if self._draw_head is not None and self.size.width:
            self.head = tuple(self._draw_head(self.size.width, self.roles))

    def selected_text(self) -> str:
        return "\n".join(self.page.lines)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y < len(self.head):
            return self.head[y].strip(width, self.under)
        row = y - len(self.head) + self.scroll_offset.y
        if row >= len(self._parts):
            return Strip.blank(width, self.under)
        strip = self._cache.get(row)
        if strip is None:
            strip = self._draw(self._parts[row], width).strip(width, self.under)
            self._cache.set(row, strip)
        return strip

    def _draw(self, part: Part, width: int) -> Row:
        rule = self.page.rule[1]
        if part[1] == RULE:
            return draw_rule(rule, width, self.roles) if rule is not None else Row()
        return draw_part(self.page, part, gutter_of(self.page), self.roles)


_LABEL = 8
_HINTS = {
    "room": "increase context_compiler.token_budget to include it",
    "cap": "increase the cap to include it; the reason names the setting",
    "": "",
}
SIGNS: dict[ChangeKind, Sign] = {"came": "+", "went": "-", "changed": "~"}
_NAMES: dict[ChangeKind, str] = {"came": "added", "went": "removed", "changed": "changed"}


def section_head(section: Section, budget: int, width: int, roles: Roles, *, lines: int = 4) -> list[Row]:
    """At most ``lines`` rows, followed by a separator."""
    percent = round(100 * section.tokens / budget) if budget else 0
    first = Row((f"{count(section.tokens)} tok", roles.strong), (f" {percent} %", roles.muted))
    parts = [(f"P{section.priority} {section.slot}", roles.slot(section.priority))]
    if section.score is not None:
        parts.append((f"score {score(section.score)}", roles.tier2))
    parts.append((f"layer {section.layer} {LAYERS.get(section.layer, '')}", roles.muted))
    add_parts(first, parts, width, roles)
    rows = [first, *labelled("why ", first_line(section.why), width, 4, roles.normal, tone=roles.faint)]
    return [*rows[:lines], Row(("─" * width, roles.line))]


def add_parts(row: Row, parts: Sequence[Piece], width: int, roles: Roles) -> None:
    """Adds the parts that fit in ``width`` cells, separated by dots."""
    for text, style in parts:
        if row.cells + 3 + cell_len(text) <= width:
            row.add(" · ", roles.faint).add(text, style)


def title_of(section: Section) -> str:
    """A section's source; its label if it does not come from a file."""
    return place(section.source, section.lines) or first_line(section.label)


def left_out_detail(entry: LeftOut, width: int, roles: Roles) -> list[Row]:
    """All fields of a left-out entry."""
    rows = [Row((first_line(entry.label), roles.strong)), Row()]
    facts = [
        ("reason", first_line(entry.reason)),
        ("source", place(entry.source, entry.lines)),
        ("tokens", count(entry.tokens)),
        ("budget", f"P{entry.priority} {entry.slot}"),
        ("score", "" if entry.score is None else f"{entry.score:.4f}"),
        ("hint", _HINTS[entry.limit]),
    ]
    for name, words in facts:
        if words:
            rows += labelled(name, words, width, _LABEL, roles.normal, tone=roles.faint)
    return rows


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    difference: Difference
    before: Compiled
    after: Compiled
    tried: bool = False
    """The later prompt was tried by hand; the earlier one is that of the feed's message."""

    def text(self, index: int) -> str:
        """The unified diff of one change; all lines of an added or removed section."""
        change = self.difference.sections[index]
        if change.diff:
            return "\n".join(change.diff)
        compiled = self.after if change.after.place else self.before
        lines = compiled.sections[change.own.place - 1].text.split("\n")
        return "\n".join(f"{SIGNS[change.kind]}{line}" for line in lines)

    def lines(self, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The diff as ``diff_lines`` returns it."""
        return diff_lines(self.text(index).split("\n"))


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonRequest:
    """A prompt to compare with an earlier one."""

    compiled: Compiled
    key: str
    """The feed key of the message."""
    tried: bool = False
    """It was tried by hand: compare with this message's prompt instead of the previous one."""


def compare_with_earlier(engine: Engine, request: ComparisonRequest) -> Comparison | None:
    """Compares a prompt with an earlier one; ``None`` if there is none."""
    before = engine.compile_of(request.key) if request.tried else engine.compile_before(request.key)
    return compare(before, request.compiled, tried=request.tried) if before is not None else None


def compare(before: Compiled, after: Compiled, *, tried: bool = False) -> Comparison:
    """Compares two prompts; slow enough to run on a background thread."""
    return Comparison(difference_of(before, after), before, after, tried)


def difference_items(comparison: Comparison, query: str = "") -> list[ListItem]:
    """The changed sections, by layer."""
    items: list[ListItem] = []
    layer = 0
    for index, change in enumerate(comparison.difference.sections):
        row = _row(change, index)
        if not matches(row, query):
            continue
        if change.layer != layer:
            layer = change.layer
            items.append(HeadItem(LAYERS.get(layer, ""), layer))
        items.append(row)
    return items


def _row(change: SectionChange, index: int) -> SectionItem:
    side = change.own
    place = place_of(side.source, side.lines) or first_line(change.label)
    why = first_line((change.before if change.kind == "came" else change.after).why)
    kind, sign = kind_of(change.label), SIGNS[change.kind]
    return SectionItem(index, change.priority, kind, place, side.tokens, side.score, why, sign)


def difference_summary(comparison: Comparison, width: int, roles: Roles) -> tuple[Piece, ...]:
    """``+3 added  -2 removed  ~4 changed · stable prefix …``, as long as fits in ``width`` cells."""
    since = "against the feed's message  " if comparison.tried else "since the previous message  "
    counts = [
        (sign, _NAMES[kind], sum(change.kind == kind for change in comparison.difference.sections))
        for kind, sign in SIGNS.items()
    ]
    prefix = comparison.difference.prefix
    tone = roles.active if prefix is None else roles.error
    for lead, worded, short in ((since, True, False), ("", True, False), ("", True, True), ("", False, True)):
        pieces: list[Piece] = [(lead, roles.muted)] if lead else []
        for sign, word, number in counts:
            words = f"{sign}{count(number)} {word}  " if worded else f"{sign}{count(number)} "
            pieces.append((words, sign_style(sign, roles) if number else roles.faint))
        pieces += [("· ", roles.faint), (prefix_words(prefix, short=short), tone)]
        if sum(len(text) for text, _style in pieces) <= width:
            break
    return tuple(pieces)


def prefix_words(broken: Break | None, *, short: bool = False) -> str:
    """Whether the stable prefix is unchanged, or where it first differs."""
    name = "prefix" if short else "stable prefix"
    if broken is None:
        return f"{name} unchanged, byte for byte"
    byte, label = f"byte {count(broken.byte)}", first_line(broken.label)
    if short:
        return f"! {name} broken: {byte}, layer {broken.layer}, {label}"
    return f"! {name} broken: layer {broken.layer} {broken.name}, {label}, {byte}"


def change_head(change: SectionChange, width: int, roles: Roles) -> list[Row]:
    """The lines above a diff: sizes before and after, and the reasons on both sides."""
    sign = SIGNS[change.kind]
    first = Row((f"{sign} {_NAMES[change.kind]}", sign_style(sign, roles)))
    sizes = " ▸ ".join(count(side.tokens) for side in (change.before, change.after) if side.place)
    first.add(f" · {sizes} tok", roles.strong)
    parts = [(f"P{change.priority} {change.slot}", roles.slot(change.priority))]
    parts.append((f"layer {change.layer} {LAYERS.get(change.layer, '')}", roles.muted))
    add_parts(first, parts, width, roles)
    rows = [first]
    before, after = first_line(change.before.why), first_line(change.after.why)
    reasons = [("why", after, True)] if before == after else [("before", before, False), ("now", after, True)]
    for word, why, strong in reasons:
        indent = 4 if len(reasons) == 1 else 7
        style = roles.normal if strong else roles.muted
        rows += labelled(word, why, width, indent, style, tone=roles.faint)
    return [*rows, Row(("─" * width, roles.line))]


@dataclass(frozen=True, slots=True)
class Summary:
    shown: Shown = field(default_factory=Shown)
    compiled: Compiled | None = None
    pending: bool = False
    """A new prompt is being compiled."""
    without: str = ""
    """Why the prompt has no message; empty if it has one."""
    comparison: Comparison | None = None


class SummaryBar(Bar):
    """The summary, as tall as the screen allows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Summary()

    def show(self, view: Summary) -> None:
        if view != self.view:
            self.view = view
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        return summary_rows(self.view, width, self.size.height, self.roles)


def summary_rows(view: Summary, width: int, height: int, roles: Roles) -> list[Row]:
    """One to three lines; the message is dropped first, then the topics."""
    rows = [figures(view, width, roles)]
    if view.comparison is not None:
        rows.append(Row(*difference_summary(view.comparison, width - 2, roles)).cut(width - 1))
    elif height > 1:
        rows.append(_topics(view, width, roles))
    if height > 2:
        rows.insert(0, message(view, width, roles))
    return [Row().gap().extend(row) for row in rows[-height:]]


def message(view: Summary, width: int, roles: Roles) -> Row:
    """The message: ``“Can you review …”  user · 18:47``."""
    shown = view.shown
    if view.without:
        return Row((view.without, roles.muted)).cut(width - 1)
    entry = shown.entry
    who = "tried" if shown.trying else f"{entry.kind} · {clock(entry.at)}" if entry is not None else ""
    if entry is not None and entry.kind in ("agent", "tool"):
        who += " · the prompt it answered"
    state = Row(("compiling …", roles.gate)) if view.pending and view.compiled is not None else Row()
    text = clip(f"“{first_line(shown.text)}”", width - len(who) - state.cells - 6)
    return Row((text, roles.strong)).gap(2).add(who, roles.muted).right(state, width - 1)


def figures(view: Summary, width: int, roles: Roles) -> Row:
    """Token use: ``7,926 of 8,192 tok · 97 % · …``, as much as fits, most important first."""
    compiled = view.compiled
    if compiled is None:
        return Row(("compiling …" if view.pending else "no prompt", roles.muted))
    percent = round(100 * compiled.tokens / compiled.budget) if compiled.budget else 0
    row = Row((count(compiled.tokens), roles.strong), (f" of {count(compiled.budget)} tok", roles.muted))
    row.add(f" · {percent} %", roles.normal)
    for parts in (_parts(compiled, roles, short=False), _parts(compiled, roles, short=True)):
        if row.cells + sum(3 + part.cells for part in parts) < width - 1:
            break
    for part in parts:
        if row.cells + 3 + part.cells < width - 1:
            row.add(" · ", roles.faint).extend(part)
    return row


def _parts(compiled: Compiled, roles: Roles, *, short: bool) -> list[Row]:
    """The parts after the percentage; in the short form the most important comes first."""
    reply = Row((f"{count(compiled.reply_reserve)} {'reply' if short else 'for the reply'}", roles.muted))
    number = len(compiled.left_out)
    left = Row((f"{count(number)} left out", roles.gate) if number else ("nothing left out", roles.muted))
    parts = [left] if short else [reply, left]
    if compiled.dropped_turns:
        turns = count(compiled.dropped_turns) if short else plural(compiled.dropped_turns, "turn")
        dropped = Row((f"{turns} dropped", roles.muted))
        if compiled.unflushed_turns:
            dropped.add(f", {count(compiled.unflushed_turns)} unflushed", roles.gate)
        parts.append(dropped)
    if compiled.problems:
        parts.append(Row((f"! {plural(len(compiled.problems), 'problem')}", roles.error)))
    return [*parts, reply] if short else parts


def _topics(view: Summary, width: int, roles: Roles) -> Row:
    compiled = view.compiled
    if compiled is None:
        return Row()
    names = ", ".join(map(first_line, compiled.active_topics))
    row = Row(("topics ", roles.muted))
    return row.add(
        clip(names or "none active", width - row.cells - 2), roles.normal if names else roles.muted
    )
