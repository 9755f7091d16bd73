"""Panels 2 and 4 of the context screen: a text of any length, and the budget by slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.cache import LRUCache
from textual.geometry import Size
from textual.strip import Strip

from engine.context.compiled import Compiled
from tui.kit.panel import LinesPanel, Panel
from tui.render.budget import budget_lines, budget_state
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.context.lists import draw_rule
from tui.screens.context.text import (
    Part,
    TextPage,
    draw_part,
    gutter_of,
    parts_of,
    position,
)

Head = Callable[[int, Roles], Sequence[Row]]
CACHED_LINES = 2048
NOTHING = TextPage(())


class TextPanel(Panel):
    """Panel 2: what is known about a section, fixed, and below it the text, which scrolls.

    Lines are drawn when they come into view, so a prompt of a million tokens costs what a screenful costs.
    """

    name_of = "text"
    number = "2"
    words = "text"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.page = NOTHING
        self.head: tuple[Row, ...] = ()
        self._parts: list[Part] = []
        self._parts_for: tuple[Sequence[str], int, int] | None = None
        self._gutter = 0
        self._wanted: int | None = None
        self._title = ""
        self._draw_head: Head | None = None
        self._cache: LRUCache[int, Strip] = LRUCache(CACHED_LINES)

    @property
    def row_count(self) -> int:
        """Lines of the text."""
        return len(self.page.lines)

    def show(
        self, page: TextPage, head: Head | None = None, title: str = "", *, line: int | None = 0
    ) -> None:
        """Shows another text.

        Args:
            head: Draws the lines above it, which stay, for a width.
            title: What stands beside the panel's name.
            line: The line of the text to begin with; ``None`` stays where it is.
        """
        self.page, self._draw_head, self._title = page, head, title
        self._cache.clear()
        if line is not None:
            self._wanted = line
        self._lay_out()
        self.refresh()

    def _lay_out(self) -> None:
        """Works out the lines for the present width, and goes to the line that is wanted."""
        width = self.size.width
        if not width:  # out of view: worked out when it comes back
            self._parts, self._parts_for = [], None
            return
        self.head = tuple(self._draw_head(width, self.roles)) if self._draw_head is not None else ()
        gutter = gutter_of(self.page)
        lines, known = self.page.lines, self._parts_for
        if known is None or known[0] is not lines or known[1:] != (width, gutter):
            if self._wanted is None and known is not None:
                self._wanted = self.line_in_view
            self._parts_for = (lines, width, gutter)
            self._gutter = gutter
            self._parts = parts_of(lines, width - gutter)
        self.virtual_size = Size(width, len(self.head) + len(self._parts) + self._has_rule)
        if self._wanted is not None:
            line, self._wanted = self._wanted, None
            self.scroll_to(y=self._row_of(line), animate=False, force=True)
        self._frame_it()

    @property
    def _has_rule(self) -> int:
        return 1 if self.page.rule[0] else 0

    @property
    def _rule_row(self) -> int:
        """The row of the rule, -1 where there is none."""
        return self._first_part(self.page.rule[0]) if self._has_rule else -1

    def _first_part(self, line: int) -> int:
        low, high = 0, len(self._parts)
        while low < high:
            middle = (low + high) // 2
            if self._parts[middle][0] < line:
                low = middle + 1
            else:
                high = middle
        return low

    def _row_of(self, line: int) -> int:
        row = self._first_part(line)
        return row + (1 if self._has_rule and row > self._rule_row else 0)

    def _frame_it(self) -> None:
        room = self.size.height - len(self.head)
        total = len(self._parts) + self._has_rule
        where = ""
        if total > room > 0:
            top = self.scroll_offset.y
            where = position(top + 1, min(total, top + room), total)
        self.set_frame(self._title, where)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Says which lines are in view."""
        super().watch_scroll_y(old_value, new_value)
        self._frame_it()

    def on_resize(self) -> None:
        """Another width breaks lines otherwise."""
        self._cache.clear()
        self._lay_out()
        self.refresh()

    @property
    def line_in_view(self) -> int:
        """The line of the text at the top of what is in view, counted from 0."""
        top = self.scroll_offset.y
        return self._parts[min(top, len(self._parts) - 1)][0] if self._parts else 0

    def notify_style_update(self) -> None:
        """A theme or the focus changed."""
        super().notify_style_update()
        self._cache.clear()
        if self._draw_head is not None and self.size.width:
            self.head = tuple(self._draw_head(self.size.width, self.roles))

    def selected_text(self) -> str:
        """The whole text as it is shown."""
        return "\n".join(self.page.lines)

    def render_line(self, y: int) -> Strip:
        """One line of what is in view."""
        width = self.size.width
        if y < len(self.head):
            return self.head[y].strip(width, self.under)
        row = y - len(self.head) + self.scroll_offset.y
        strip = self._cache.get(row)
        if strip is None:
            strip = self._draw(row, width)
            self._cache.set(row, strip)
        return strip

    def _draw(self, row: int, width: int) -> Strip:
        rule = self._rule_row
        item = self.page.rule[1]
        if row == rule and item is not None:
            return draw_rule(item, width, self.roles).strip(width, self.under)
        at = row - 1 if 0 <= rule < row else row
        if not 0 <= at < len(self._parts):
            return Strip.blank(width, self.under)
        return draw_part(self.page, self._parts[at], self._gutter, self.roles).strip(width, self.under)


class SlotsPanel(LinesPanel):
    """Panel 4: use against cap by slot; what was left out has a panel of its own."""

    name_of = "slots"
    number = "4"
    words = "budget"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._whole: Compiled | None = None
        self._budget: Compiled | None = None

    @property
    def row_count(self) -> int:
        """Whether there is a prompt to see."""
        return 1 if self._whole is not None else 0

    def show(self, compiled: Compiled | None) -> None:
        """Shows another prompt."""
        if compiled is None or compiled is not self._whole:
            self._whole = compiled
            self._budget = replace(compiled, left_out=()) if compiled is not None else None
            self.set_frame(below=budget_state(compiled))
            self.changed()

    def draw(self, width: int, height: int) -> list[Row]:
        """The gauges."""
        if self._budget is None:
            return []
        return budget_lines(self._budget, width, height, self.roles, coloured=self.coloured)
