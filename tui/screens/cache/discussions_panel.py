"""Panel 2 of the cache screen: the discussions, the one used last first."""

from __future__ import annotations

from collections.abc import Sequence

from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row
from tui.render.figures import count
from tui.screens.cache.discussions import CACHED, Columns, DiscussionItem, draw_discussion


class DiscussionsPanel(KeyedRows[DiscussionItem]):
    """A line for each; what is known of the selected one's last miss stands at the lower edge."""

    name_of = "discussions"
    number = "2"
    words = "discussions"
    always_lit = True
    signs = (
        ("●", "cached, as far as the provider's answers tell"),
        ("○", "not cached: it expired, or was given up"),
        ("◌", "caching is switched off for this discussion"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._columns = Columns()

    def show_items(
        self, items: Sequence[DiscussionItem], note: Note | None = None, about: object = None
    ) -> None:
        """Shows another state, or the same a second later."""
        columns = Columns.of(items)
        if self.same_things(items):  # a time that gets shorter by a digit moves no column
            columns = columns.at_least(self._columns)
        if columns != self._columns:
            self._columns = columns
            self.forget_drawn()
        super().show_items(items, note, about)

    def key(self, item: DiscussionItem) -> str:
        """Its id."""
        return item.state.discussion_id

    def row(self, item: DiscussionItem, width: int, chosen: bool) -> Row:
        """A discussion."""
        return draw_discussion(item, self._columns, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        """How many have a cache; below, why the selected one's last call read none."""
        number = sum(item.sign == CACHED for item in self.items)
        beside = f"{count(number)} of {count(len(self.items))} cached" if self.items else ""
        selected = self.selected
        self.set_frame(beside, selected.note if selected is not None else "")

    def selected_text(self) -> str:
        """The selected discussion as a line."""
        item = self.selected
        if item is None:
            return ""
        parts = (item.state.discussion_id, item.name, item.cached, item.expires, item.left, item.state.why)
        return " ".join(part for part in parts if part)
