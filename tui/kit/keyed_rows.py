"""A list whose items can change but keep their identity, such as a task that gets done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from tui.kit.rows import Item, RowList
from tui.render.draw import Row
from tui.render.roles import Roles

Note = Callable[[int, Roles], list[Row]]
"""Draws the text for an empty list at a width."""


class KeyedRows(RowList[Item]):
    """Identifies items by ``key``, so the selection stays on an item when it changes."""

    aligned: ClassVar[bool] = False
    """Whether a row depends on all items, such as for column widths."""

    _note: Note | None = None
    _about: object = None
    _from_top = False

    def key(self, item: Item) -> object:
        """The identity of an item."""
        raise NotImplementedError

    def searchable(self, item: Item) -> Iterable[str]:
        """The texts that a filter searches."""
        return ()

    def finds(self, item: Item, query: str) -> bool:
        query = query.casefold()
        return any(query in text.casefold() for text in self.searchable(item))

    @property
    def filter_label(self) -> str:
        """``/words  3 of 12``; empty without a filter."""
        if not self.query_text:
            return ""
        return f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}"

    def select_key(self, key: object) -> None:
        """Selects an item if it is listed."""
        at = self.index_of(key)
        if at >= 0:
            self.select(at, by_hand=False)

    def index_of(self, key: object) -> int:
        """The row of an item; -1 if it is not listed."""
        return next((at for at in range(self.row_count) if self.key(self.item_at(at)) == key), -1)

    def same_items(self, items: Sequence[Item]) -> bool:
        """Whether these are the items listed now, in the same order."""
        return len(items) == len(self.items) and all(
            old is new or self.key(old) == self.key(new) for old, new in zip(self.items, items, strict=True)
        )

    def show_items(
        self, items: Sequence[Item], note: Note | None = None, about: object = None, *, from_top: bool = False
    ) -> None:
        """Shows items; if they are the same ones, redraws only the rows that changed.

        Args:
            note: Draws the text for an empty list, unless ``empty`` is overridden.
            about: What ``note`` depends on; a change redraws it.
            from_top: It is an unrelated list, shown from its first row.
        """
        if about != self._about and not self.row_count:
            self.refresh()
        self._note, self._about = note, about
        if from_top or not items or self.query_text or not self.same_items(items):
            if self.aligned and list(items) != list(self.items):
                self._cache.clear()
            self._from_top = from_top
            self.show(items)
            self._from_top = False
            return
        before, self.items = self.items, items
        changed = [row for row, (old, new) in enumerate(zip(before, items, strict=True)) if old != new]
        if changed and self.aligned:
            self._cache.clear()
            self.refresh()
        else:
            for row in changed:
                self.refresh_row(row)
        self.summarise()

    def empty(self, width: int) -> list[Row]:
        return self._note(width, self.roles) if self._note is not None else []

    def _grown(self, items: Sequence[Item]) -> bool:
        return False  # a row in the middle may have changed

    def _index_of(self, item: Item | None) -> int:
        """The row of the same item, or else the same row."""
        size = self.row_count
        if item is None or not size or self._from_top:
            return 0 if size else -1
        found = self.index_of(self.key(item))
        return found if found >= 0 else min(max(self.cursor, 0), size - 1)
