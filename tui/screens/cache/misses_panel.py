"""Panel 4 of the cache screen: why the last miss happened, and what broke prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.kit.rows import RowList
from tui.render.draw import Row, joined_within
from tui.screens.cache.misses import CulpritItem, MissItem, draw_miss, draw_none, span_of, tally
from tui.screens.cache.providers_panel import READING

if TYPE_CHECKING:
    from engine.stability.misses import Misses


class MissesPanel(RowList[MissItem]):
    """The last miss, then the culprits, the dearest first; the tally stands in the frame."""

    name_of = "misses"
    number = "4"
    words = "misses"
    signs = (
        ("L6", "the layer of the prompt that changed, 1 to 7"),
        ("×", "how often; then the tokens that were sent anew because of it, and what they cost"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.found: Misses | None = None
        self.note = READING

    def show_misses(self, items: Sequence[MissItem], found: Misses | None) -> None:
        """Shows another tally."""
        if found == self.found and list(items) == list(self.items):
            return
        self.found = found
        self._cache.clear()  # columns are as wide as the widest row
        first = not self.items
        if list(items) == list(self.items):
            self.refresh()
            self.summarise()
        else:
            self.show(items)
        if first and items:
            self.select(0, by_hand=False)

    def _grown(self, items: Sequence[MissItem]) -> bool:
        """A row in the middle may be another, so this list never only grows."""
        return False

    def row(self, item: MissItem, width: int, chosen: bool) -> Row:
        """A miss, or a culprit."""
        return draw_miss(item, self.items, width, self.roles, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        """That nothing broke, or nothing could yet."""
        if self.found is None:
            return [Row((self.note, self.roles.faint))]
        return draw_none(self.found, width, self.roles)

    def on_resize(self) -> None:
        """Another width has room for other words in the frame."""
        super().on_resize()
        self.summarise()

    def summarise(self) -> None:
        """The tally, and what it is of."""
        if self.found is not None:
            room = self.size.width
            self.set_frame(
                joined_within(tally(self.found), room - 12), joined_within(span_of(self.found), room - 4)
            )

    def selected_text(self) -> str:
        """The selected row as a line."""
        item = self.selected
        if isinstance(item, CulpritItem):
            each = item.culprit
            return f"layer {each.layer} ({each.name}) {each.source} {each.times} times, {each.lost} tokens"
        return f"{item.entry.state.discussion_id} {item.entry.state.why}" if item is not None else ""
