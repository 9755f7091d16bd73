"""Panel 2: which topics fired for the message shown, and why."""

from __future__ import annotations

from dataclasses import replace

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from engine.activation.trace import TopicTrace
from tui.kit.panel import Motion, Panel
from tui.render.activation import Drawn, draw_activation
from tui.render.explain import detail
from tui.render.shown import Shown
from tui.render.table import NEAR_MISSES, SIGNS, Table, tabulate


class ActivationPanel(Panel):
    """The trace of one message with a selected topic; it lays itself out for its whole size."""

    name_of = "activation"
    number = "2"
    words = "activation"
    signs = (
        (SIGNS["active"], "active: it is in the prompt"),
        (SIGNS["dropped"], "dropped by tiers 1 and 2"),
        (SIGNS["rejected"], "the gate said no"),
        (SIGNS["failed"], "the gate gave no answer"),
        (SIGNS["manual"], "only by hand, or switched off"),
        ("│", "across the gauge: from here the gate is asked, from here it is active"),
    )

    class Moved(Message):
        """Another topic is selected."""

    shown = Shown()
    query_text = ""
    table = Table()
    _unfolded = False
    _top = 0
    _drawn: Drawn | None = None

    def _tabulate(self, topic: str = "") -> None:
        """Makes the table anew and selects a topic, or the first row."""
        near = max(NEAR_MISSES, (self.size.height - 20) // 2)
        table = tabulate(self.shown.trace, query=self.query_text, unfolded=self._unfolded, near=near)
        names = [row.topic for row in table.rows]
        self.table = replace(table, selected=names.index(topic) if topic in names else 0)

    @property
    def selected(self) -> TopicTrace | None:
        """The selected topic's row."""
        table = self.table
        return table.rows[table.selected] if table.rows else None

    @property
    def row_count(self) -> int:
        return len(self.table.rows)

    def show(self, shown: Shown) -> None:
        """Shows another message, or more about this one; on the same message the topic stays selected."""
        same = shown.text == self.shown.text and shown.key == self.shown.key
        topic = self.selected.topic if same and self.selected is not None else ""
        self.shown = shown
        if not same:
            self._unfolded, self._top = False, 0
        self._tabulate(topic)
        self._changed()

    def filter(self, query: str) -> None:
        """Keeps only the topics whose name holds the words."""
        self.query_text, self._top = query, 0
        self._tabulate()
        self._changed()

    def move(self, motion: Motion) -> None:
        """Moves the selection; going past the fold unfolds it."""
        half = max(1, self.size.height // 4)
        at, last = self.table.selected, len(self.table.rows) - 1
        step = {
            Motion.UP: -1,
            Motion.DOWN: 1,
            Motion.FIRST: -at,
            Motion.LAST: last - at,
            Motion.HALF_UP: -half,
            Motion.HALF_DOWN: half,
        }[motion]
        if self.table.hidden and (at + step > last or (motion is Motion.LAST and at == last)):
            self._unfolded = True
            self._tabulate(self.selected.topic if self.selected is not None else "")
            at, last = self.table.selected, len(self.table.rows) - 1
            step = last - at if motion is Motion.LAST else step
        self.select(at + step)

    def select(self, index: int) -> None:
        """Selects a row of the table."""
        self.table = replace(self.table, selected=max(0, min(index, len(self.table.rows) - 1)))
        self._changed()

    def detail(self, width: int) -> list[str]:
        """The explanation as plain lines, for the clipboard."""
        row = self.selected
        return [line.text for line in detail(self.shown, row, width, self.roles)] if row is not None else []

    def selected_text(self) -> str:
        return "\n".join(self.detail(100))

    def _changed(self) -> None:
        before, self._drawn = self._drawn, None
        source = {"draft": "trying", "kept": "tried · esc follows again"}.get(self.shown.source, "")
        self.set_frame(source, f"/{self.query_text}" if self.query_text else "")
        if before is None:
            self.refresh()
        else:
            after = self.drawn()
            self.refresh_different(before.lines, after.lines)
            for y in {before.chosen, after.chosen} - {-1}:
                self.refresh(Region(0, y, self.size.width, 1))
        self.post_message(self.Moved())

    def drawn(self) -> Drawn:
        """The layout for the present size."""
        if self._drawn is None:
            size = self.size
            self._drawn = draw_activation(
                self.shown, self.table, self._top, size.width, size.height, self.roles, focused=self.has_focus
            )
            self._top = self._drawn.top
        return self._drawn

    def on_resize(self) -> None:
        """A new size needs a new layout."""
        self._tabulate(self.selected.topic if self.selected is not None else "")
        self._drawn = None
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn = None

    def on_click(self, event: events.Click) -> None:
        """A click selects the topic on that line."""
        offset = event.get_content_offset(self)
        drawn = self._drawn
        if offset is not None and drawn is not None and drawn.first <= offset.y < drawn.first + drawn.count:
            self.select(drawn.top + offset.y - drawn.first)

    def render_line(self, y: int) -> Strip:
        drawn, width = self.drawn(), self.size.width
        if y >= len(drawn.lines):
            return Strip.blank(width, self.under)
        under = self.under + self.roles.selection if y == drawn.chosen else self.under
        return drawn.lines[y].strip(width, under)
