"""A list whose items change while each stays the same thing: a task that is done, a cache that runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from tui.kit.rows import Item, RowList
from tui.render.draw import Row
from tui.render.roles import Roles

Note = Callable[[int, Roles], list[Row]]
"""Draws what stands where there are no rows, for a width."""


class KeyedRows(RowList[Item]):
    """Knows its items by a key (``key``), so that the selection stays with a thing whatever became of it."""

    aligned: ClassVar[bool] = False
    """Whether how a row looks depends on all of them: columns as wide as the longest name."""

    _note: Note | None = None
    _about: object = None
    _afresh = False

    def key(self, item: Item) -> object:
        """What stays of an item when it changes."""
        raise AssertionError(f"{type(self).__name__} names no key")

    def select_key(self, key: object) -> None:
        """Selects a thing, where it is in view."""
        at = self.index_of(key)
        if at >= 0:
            self.select(at, by_hand=False)

    def index_of(self, key: object) -> int:
        """The row of a thing; -1 where it is in none."""
        return next((at for at in range(self.row_count) if self.key(self.item_at(at)) == key), -1)

    def same_things(self, items: Sequence[Item]) -> bool:
        """Whether these are the things that are listed now, in the same order."""
        return len(items) == len(self.items) and all(
            old is new or self.key(old) == self.key(new) for old, new in zip(self.items, items, strict=True)
        )

    def show_items(
        self, items: Sequence[Item], note: Note | None = None, about: object = None, *, afresh: bool = False
    ) -> None:
        """Shows another state; of the same things only the rows that differ are drawn.

        Args:
            note: Draws what stands where there are none; not needed where ``empty`` does.
            about: What ``note`` depends on, so that it is drawn again when that changes.
            afresh: It is another list altogether, which begins with its first row.
        """
        if about != self._about and not self.row_count:
            self.refresh()
        self._note, self._about = note, about
        if afresh or not items or self.query_text or not self.same_things(items):
            if self.aligned and list(items) != list(self.items):
                self._cache.clear()
            self._afresh = afresh
            self.show(items)
            self._afresh = False
            return
        before, self.items = self.items, items
        for row, (old, new) in enumerate(zip(before, items, strict=True)):
            if old != new:
                self.refresh_row(row)
        self.summarise()

    def empty(self, width: int) -> list[Row]:
        """What the note says."""
        return self._note(width, self.roles) if self._note is not None else []

    def _grown(self, items: Sequence[Item]) -> bool:
        """A row in the middle may be another, so this list never only grows."""
        return False

    def _index_of(self, item: Item | None) -> int:
        """Where a thing is now, else what is in its place."""
        size = self.row_count
        if item is None or not size or self._afresh:
            return 0 if size else -1
        found = self.index_of(self.key(item))
        return found if found >= 0 else min(max(self.cursor, 0), size - 1)
