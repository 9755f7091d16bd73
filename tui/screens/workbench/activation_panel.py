"""Panel 2: which topics fired for the message shown and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from textual import events
from textual.message import Message

from engine.activation.trace import TopicTrace
from tui.kit.panel import LinesPanel, Motion, moved
from tui.render.activation import Drawn, draw_activation
from tui.render.draw import Row
from tui.render.explain import detail
from tui.render.shown import Shown
from tui.render.table import NEAR_MISSES, SIGNS, Table, tabulate


class ActivationPanel(LinesPanel):
    """The trace of one message, with a selected topic."""

    name_of = "activation"
    number = "2"
    words = "activation"
    signs = (
        (SIGNS["active"], "active: in the prompt"),
        (SIGNS["offered"], "offered: the agent is told of it, and opens it if it applies"),
        (SIGNS["dropped"], "dropped by tiers 1 and 2"),
        (SIGNS["rejected"], "rejected by the gate"),
        (SIGNS["failed"], "the gate did not answer"),
        (".33▸", "the score before your label was learned"),
        (SIGNS["manual"], "manual only, or disabled"),
        ("│", "on the gauge: the thresholds for asking the gate and for active"),
    )

    class Moved(Message):
        """The selected topic changed."""

    shown = Shown()
    imported = True
    """Whether there are any conversations."""
    query_text = ""
    table = Table()
    _unfolded = False
    _learned: Mapping[tuple[str, str], float] = MappingProxyType({})
    drawn = Drawn(())
    """The last drawing: where on the panel the table's rows are."""

    def _tabulate(self, topic: str = "") -> None:
        """Rebuilds the table and selects a topic, or the first row."""
        near = max(NEAR_MISSES, (self.size.height - 20) // 2)
        table = tabulate(self.shown.trace, query=self.query_text, unfolded=self._unfolded, near=near)
        names = [row.topic for row in table.rows]
        key = self.shown.key
        learned = {name: was for (of, name), was in self._learned.items() if of == key}
        self.table = replace(table, selected=names.index(topic) if topic in names else 0, learned=learned)

    @property
    def selected(self) -> TopicTrace | None:
        table = self.table
        return table.rows[table.selected] if table.rows else None

    @property
    def row_count(self) -> int:
        return len(self.table.rows)

    def show(self, shown: Shown) -> None:
        """Shows a message; if it is the same one with more detail, the topic stays selected."""
        same = shown.text == self.shown.text and shown.key == self.shown.key
        topic = self.selected.topic if same and self.selected is not None else ""
        self.shown = shown
        if not same:
            self._unfolded, self.drawn = False, Drawn(())
        self._tabulate(topic)
        self._changed()

    def show_learned(self, key: str, topic: str, before: float) -> None:
        """Shows the score that a topic had for a message before a label was learned."""
        self._learned = {**self._learned, (key, topic): before}
        if key == self.shown.key:
            self._tabulate(self.selected.topic if self.selected is not None else "")
            self.changed()

    def show_imported(self, imported: bool) -> None:
        """Says in an empty panel whether there are any conversations."""
        if imported != self.imported:
            self.imported = imported
            self.changed()

    def filter(self, query: str) -> None:
        """Keeps only the topics whose name contains the query."""
        self.query_text, self.drawn = query, Drawn(())
        self._tabulate()
        self._changed()

    def move(self, motion: Motion) -> None:
        """Moves the selection; going past the fold unfolds it."""
        half = max(1, self.size.height // 4)
        at, last = self.table.selected, len(self.table.rows) - 1
        target = moved(motion, at, last, half)
        if self.table.hidden and (target > last or (motion is Motion.LAST and at == last)):
            self._unfolded = True
            self._tabulate(self.selected.topic if self.selected is not None else "")
            target = len(self.table.rows) - 1 if motion is Motion.LAST else target
        self.select(target)

    def select(self, index: int) -> None:
        self.table = replace(self.table, selected=max(0, min(index, len(self.table.rows) - 1)))
        self._changed()

    def detail(self, width: int) -> list[str]:
        """The explanation as plain text lines, for the clipboard."""
        row = self.selected
        return [line.text for line in detail(self.shown, row, width, self.roles)] if row is not None else []

    def selected_text(self) -> str:
        return "\n".join(self.detail(100))

    def _changed(self) -> None:
        source = {"draft": "trying", "kept": "tried · esc back to the feed"}.get(self.shown.source, "")
        self.set_frame(source, f"/{self.query_text}" if self.query_text else "")
        self.changed()
        self.post_message(self.Moved())

    def draw(self, width: int, height: int) -> list[Row]:
        top, focused = self.drawn.top, self.has_focus
        self.drawn = draw_activation(
            self.shown,
            self.table,
            top,
            width,
            height,
            self.roles,
            focused=focused,
            imported=self.imported,
        )
        self.lit = self.drawn.chosen
        return list(self.drawn.lines)

    def on_resize(self) -> None:
        """Rebuilds the table: the height decides how many near misses fit."""
        self._tabulate(self.selected.topic if self.selected is not None else "")
        super().on_resize()

    def on_click(self, event: events.Click) -> None:
        offset, drawn = event.get_content_offset(self), self.drawn
        if offset is not None and drawn.first <= offset.y < drawn.first + drawn.count:
            self.select(drawn.top + offset.y - drawn.first)
