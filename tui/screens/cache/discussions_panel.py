"""Panel 2 of the cache screen: the discussions, the one used last first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.roles import Roles
from tui.screens.cache.discussions import CACHED, Columns, DiscussionItem, draw_discussion

Note = Callable[[int, Roles], list[Row]]


class DiscussionsPanel(RowList[DiscussionItem]):
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
        self._note: Note | None = None
        self._about: object = None
        self._columns = Columns()

    def show_items(self, items: Sequence[DiscussionItem], note: Note, about: object) -> None:
        """Shows another state, or the same a second later: then only rows that differ are drawn.

        Args:
            items: The rows.
            note: Draws what stands where there are none.
            about: What ``note`` depends on, so that it is drawn again when that changes.
        """
        known = [_id(item) for item in self.items]
        same = bool(known) and known == [_id(item) for item in items]
        self._fit_columns(Columns.of(items), same=same)
        if not items and about != self._about:
            self.refresh()
        self._note, self._about = note, about
        if not same:
            first = not self.items
            self.show(items)
            if first and items:
                self.select(0, by_hand=False)
            return
        before, self.items = self.items, items
        for row, (old, new) in enumerate(zip(before, items, strict=True)):
            if old != new:
                self.refresh_line(row)
        self.summarise()

    def _fit_columns(self, columns: Columns, *, same: bool) -> None:
        if same:  # a time that gets shorter by a digit moves no column
            columns = columns.at_least(self._columns)
        if columns != self._columns:
            self._columns = columns
            self._cache.clear()
            self.refresh()

    def _index_of(self, item: DiscussionItem | None) -> int:
        """Where a discussion is now, whatever became of its cache."""
        if item is None:
            return 0 if self.items else -1
        wanted = _id(item)
        found = next((at for at, each in enumerate(self.items) if _id(each) == wanted), -1)
        return found if found >= 0 else min(self.cursor, len(self.items) - 1)

    def _grown(self, items: Sequence[DiscussionItem]) -> bool:
        """A row in the middle may be another, so this list never only grows."""
        return False

    def row(self, item: DiscussionItem, width: int, chosen: bool) -> Row:
        """A discussion."""
        return draw_discussion(item, self._columns, width, self.roles, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        """How caches come about, or why nothing is known."""
        return self._note(width, self.roles) if self._note is not None else []

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


def _id(item: DiscussionItem) -> str:
    return item.state.discussion_id
