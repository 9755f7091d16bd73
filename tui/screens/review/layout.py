"""The review screen: what a harvest held back, why, and a person's word on each (design 6.4, 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.review.item_panel import ItemPanel
from tui.screens.review.queue import draw_none, draw_note, draw_trouble
from tui.screens.review.queue_panel import QueuePanel
from tui.screens.review.state import ReviewState
from tui.screens.review.work import QueueRead, ReviewWork, Settled, SettlingEnded, SourceRead

if TYPE_CHECKING:
    from tui.kit.bench import Bench

NARROW = 100
"""Columns below which the item stands under the list."""
LOW = 20
"""Lines below which one panel at a time is in view."""
READING = "reading what waits …"


class ReviewLayout(FullScreen):
    """The screen on what waits for a person.

    Args:
        bench: The workbench it was opened from.
    """

    AUTO_FOCUS = "#queue"
    CSS_PATH: ClassVar[CSSPathType | None] = "review.tcss"
    area = "review"
    work: ReviewWork
    line = "wording"
    burst_s = 0.5  # what a harvest holds back comes in several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "queue")
        self.state = ReviewState()
        self.work = ReviewWork(bench.engine, self.post_message)

    def body(self) -> ComposeResult:
        """The list, and the selected item beside it."""
        self.queue = QueuePanel(id="queue")
        self.item = ItemPanel(id="item")
        with Container(id="review"):
            yield self.queue
            yield self.item

    def below(self) -> ComposeResult:
        """The line."""
        yield self.prompt

    def begin(self) -> None:
        """Reads what waits."""
        self.work.look()

    # What is on the screen

    @property
    def alone(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        if not self.alone:
            return self.panels
        used = self.panel_before if self.in_line else self.panel_in_use
        return (used,)

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self.in_view()
        self.lay_out_frame({"-narrow": self.app.size.width < NARROW, "-low": self.alone})
        for panel in (self.queue, self.item):
            panel.display = panel.name_of in shown

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        state = self.state
        items = state.items(self.bench.clock.now())
        self.queue.show_items(items, self._note, (state.phase, state.problem, state.settled, state.query))
        self.queue.filter(state.query)
        self.show_item()

    def show_item(self) -> None:
        """Shows the selected item, and asks for the lines around its own."""
        item = self.queue.selected
        source = self.state.source_of(item.waiting) if item is not None else None
        shown = self.item.item
        other = item is not None and (shown is None or shown.waiting.id != item.waiting.id)
        self.item.show(item, source)
        if item is not None and source is None and other:
            self.work.source(item.waiting)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no rows."""
        state = self.state
        if state.phase == "loading":
            return draw_note(READING, roles.faint)
        if state.phase == "trouble":
            return draw_trouble(state.problem, width, roles)
        if state.query:
            return draw_note("no item holds these words; esc shows all", roles.muted)
        return draw_none(0 if state.with_settled else state.settled, width, roles)

    def focus_panel(self, name: str) -> None:
        """Gives a panel the keys; where only one has room, the place as well."""
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.in_line and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        """Where only one panel has room, the one with the keys has it."""
        if self.alone:
            self.lay_out()

    # What comes in

    @on(QueueRead)
    def _queue_read(self, read: QueueRead) -> None:
        if not self.state.take(read):
            self.say(read.problem, trouble=True)
        self.show()

    @on(SourceRead)
    def _source_read(self, read: SourceRead) -> None:
        self.state.take_source(read)
        self.show_item()

    @on(Settled)
    def _settled(self, settled: Settled) -> None:
        self.state.ended(settled.name, done=settled.done)
        if not settled.done:
            self.show()

    @on(SettlingEnded)
    def _settling_ended(self) -> None:
        self.work.look()

    def heard(self, burst: Burst) -> None:
        """Files changed: reads what waits again."""
        if burst.parts & {"status", "digest"}:
            self.work.look()

    # What a person does

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.show_item()
