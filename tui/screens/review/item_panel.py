"""Panel 2 of the review screen: the selected item in full, with the conversation around its line."""

from __future__ import annotations

from tui.kit.panel import LinesPanel
from tui.render.draw import Row
from tui.screens.review.item import SourceLines, draw_whole
from tui.screens.review.queue import ReviewItem


class ItemPanel(LinesPanel):
    """What is known of one item."""

    name_of = "item"
    number = "2"
    words = "item"
    signs = (("▸", "the line of the conversation that says it"),)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.item: ReviewItem | None = None
        self.source: SourceLines | None = None

    @property
    def row_count(self) -> int:
        """Whether an item is shown."""
        return int(self.item is not None)

    def show(self, item: ReviewItem | None, source: SourceLines | None) -> None:
        """Shows an item; the place in it stays while it is the same one."""
        if item == self.item and source == self.source:
            return
        before, after = self.item, item
        same = before is not None and after is not None and before.waiting.id == after.waiting.id
        self.item, self.source = item, source
        self.set_frame(item.waiting.id if item is not None else "")
        self.changed()
        if not same:
            self.scroll_to(y=0, animate=False, force=True)

    def draw(self, width: int, height: int) -> list[Row]:
        """All of it."""
        if self.item is None:
            return [Row(("no item is selected", self.roles.faint))]
        return draw_whole(self.item, self.source, width, height, self.roles)
