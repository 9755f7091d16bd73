"""Panel 2 of the context screen: text of a prompt, numbered and wrapped at spaces.

Line breaks are computed for the whole text; lines are drawn only when visible.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from rich.cells import cell_len, split_graphemes
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Size
from textual.strip import Strip

from tui.kit.panel import Panel
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.roles import Roles
from tui.render.safe import visible
from tui.screens.context.lists import RuleItem, draw_rule, sign_style

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


class TextPanel(Panel):
    """Panel 2: a fixed head with facts about a section, and its scrolling text.

    Lines are drawn only when visible, so a prompt of a million tokens costs no more than a screenful.
    """

    name_of = "text"
    number = "2"
    words = "text"
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
