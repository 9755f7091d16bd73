"""Panel 1 of the review screen: what waits for a person, oldest first."""

from __future__ import annotations

from tui.kit.keyed_rows import KeyedRows
from tui.render.draw import Row
from tui.screens.review.queue import (
    ACCEPTED,
    REJECTED,
    SETTLING,
    WAITS,
    ReviewItem,
    draw_item,
    finds,
    tally,
    text_of,
)


class QueuePanel(KeyedRows[ReviewItem]):
    """A line for each item; the tally stands in the frame."""

    name_of = "queue"
    number = "1"
    words = "review"
    always_lit = True
    signs = (
        (WAITS, "waits for you"),
        (ACCEPTED, "accepted: it stands in its file"),
        (REJECTED, "rejected: it never comes back"),
        (SETTLING, "is being settled"),
    )

    def key(self, item: ReviewItem) -> str:
        """The item, whatever becomes of it."""
        return item.waiting.id

    def select_item(self, name: str) -> bool:
        """Selects the row of an item; ``False`` where it is not listed."""
        at = next((at for at in range(self.row_count) if self.item_at(at).waiting.id == name), -1)
        if at >= 0:
            self.select(at, by_hand=False)
        return at >= 0

    def next_waiting(self, past: frozenset[str]) -> str:
        """The id of the item that is next after the selected one and waits, else of the nearest before it.

        Args:
            past: Items that do not count.
        """
        rows = [*range(self.cursor + 1, self.row_count), *range(self.cursor - 1, -1, -1)]
        waiting = (self.item_at(at) for at in rows)
        return next((each.waiting.id for each in waiting if each.waits and each.waiting.id not in past), "")

    def row(self, item: ReviewItem, width: int, chosen: bool) -> Row:
        """An item."""
        return draw_item(item, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: ReviewItem, query: str) -> bool:
        """Whether the filter keeps an item."""
        return finds(item, query)

    def summarise(self) -> None:
        """How many wait; below, what the list is narrowed to."""
        below = f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}" if self.query_text else ""
        self.set_frame(tally(self.items), below)

    def selected_text(self) -> str:
        """The text of the selected item."""
        item = self.selected
        return text_of(item.waiting) if item is not None else ""
