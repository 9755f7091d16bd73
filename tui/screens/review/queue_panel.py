"""Panel 1 of the review screen: what waits for a person, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
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

Note = Callable[[int, Roles], list[Row]]


class QueuePanel(RowList[ReviewItem]):
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._note: Note | None = None
        self._about: object = None

    def show_items(self, items: Sequence[ReviewItem], note: Note, about: object) -> None:
        """Shows another state.

        Args:
            items: The rows.
            note: Draws what stands where there are none.
            about: What ``note`` depends on, so that it is drawn again when that changes.
        """
        if about != self._about and not self.row_count:
            self.refresh()
        self._note, self._about = note, about
        if list(items) != list(self.items):
            first = not self.items
            self.show(items)
            if first and items:
                self.select(0, by_hand=False)
        self.summarise()

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

    def _grown(self, items: Sequence[ReviewItem]) -> bool:
        """A row in the middle may be another, so this list never only grows."""
        return False

    def _index_of(self, item: ReviewItem | None) -> int:
        """Where an item is now, whatever became of it."""
        size = self.row_count
        if item is None or not size:
            return 0 if size else -1
        wanted = item.waiting.id
        found = next((at for at in range(size) if self.item_at(at).waiting.id == wanted), -1)
        return found if found >= 0 else min(max(self.cursor, 0), size - 1)

    def row(self, item: ReviewItem, width: int, chosen: bool) -> Row:
        """An item."""
        return draw_item(item, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: ReviewItem, query: str) -> bool:
        """Whether the filter keeps an item."""
        return finds(item, query)

    def empty(self, width: int) -> list[Row]:
        """What this is, or why nothing is known."""
        return self._note(width, self.roles) if self._note is not None else []

    def summarise(self) -> None:
        """How many wait; below, what the list is narrowed to."""
        below = f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}" if self.query_text else ""
        self.set_frame(tally(self.items), below)

    def selected_text(self) -> str:
        """The text of the selected item."""
        item = self.selected
        return text_of(item.waiting) if item is not None else ""
