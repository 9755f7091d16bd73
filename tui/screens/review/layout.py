"""The review screen: pending items, why they need review, and the decision on each (design 6.4, 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.review.item import ItemPanel, SourceLines, source_lines
from tui.screens.review.queue import QueuePanel, draw_none
from tui.screens.review.state import ReviewState

if TYPE_CHECKING:
    from engine.knowledge.review import PendingItem
    from tui.kit.bench import Bench

NARROW = 100
"""Below this many columns, the item goes under the list."""


class ReviewLayout(ListDetail):
    AUTO_FOCUS = "#queue"
    CSS_PATH: ClassVar[CSSPathType | None] = "review.tcss"
    area = "review"
    line = "wording"
    news = frozenset({"status", "digest"})
    burst_s = 0.5  # a harvest queues its items in several events

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "queue")
        self.state = ReviewState()
        engine = bench.engine
        self._looks: Lane[None, tuple[PendingItem, ...]] = self.lane(
            lambda _none: engine.knowledge.review.queue.all(),
            lambda _none, items: self._take(items),
            lambda _none, problem: self._take(None, problem),
        )
        self.sources = self.lane(lambda item: source_lines(engine.files, item), self._take_source)

    def body(self) -> ComposeResult:
        self.queue = QueuePanel(id="queue")
        self.item = ItemPanel(id="item")
        with Container(id="review"):
            yield self.queue
            yield self.item

    def look(self) -> None:
        self._looks.ask(None)

    # Display

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {"-narrow": self.app.size.width < NARROW, "-low": self.alone}

    def show(self) -> None:
        state = self.state
        items = state.items(self.bench.clock.now())
        self.queue.show_items(items, self._note, (state.phase, state.problem, state.reviewed, state.query))
        self.queue.filter(state.query)
        self.show_item()

    def show_item(self) -> None:
        """Shows the selected item, and requests its source."""
        item = self.queue.selected
        source = self.state.sources.get(item.waiting.id) if item is not None else None
        shown = self.item.item
        other = item is not None and (shown is None or shown.waiting.id != item.waiting.id)
        self.item.show(item, source)
        if item is not None and source is None and other:
            self.sources.ask(item.waiting)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        state = self.state
        if state.phase == "loading":
            return [Row(("reading the review queue …", roles.faint))]
        if state.phase == "error":
            return unreadable("the review queue", state.problem, width, roles)
        if state.query:
            return [Row(("no item matches; esc shows all", roles.muted))]
        return draw_none(0 if state.with_reviewed else state.reviewed, width, roles)

    # Results

    def _take(self, items: tuple[PendingItem, ...] | None, problem: str = "") -> None:
        if not self.state.take(items, problem):
            self.say(problem, error=True)
        self.show()

    def _take_source(self, item: PendingItem, lines: SourceLines) -> None:
        self.state.sources = {item.id: lines}
        self.show_item()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.show_item()
