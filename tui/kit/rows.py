"""A list of any length with a selection; only visible rows are drawn, and cached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui.kit.panel import Motion, Panel, moved
from tui.render.draw import Row
from tui.render.table import MARK

Item = TypeVar("Item")

CACHED_ROWS = 2048


class RowList(Panel, Generic[Item]):
    """A panel of rows; 100,000 rows cost as much as a screenful.

    Subclasses define how a row looks (``row``), what a filter matches (``finds``) and the text for an empty
    list (``empty``). Items must be hashable, as they are keys of the row cache.
    """

    always_lit: ClassVar[bool] = False
    """Whether the selection is shown without the focus, because other panels depend on it."""

    class Moved(Message):
        """The selection moved, by a key if ``by_hand``, or else by new content."""

        def __init__(self, panel: Panel, by_hand: bool) -> None:
            super().__init__()
            self.panel = panel
            self.by_hand = by_hand

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.items: Sequence[Item] = ()
        self.query_text = ""
        self.cursor = -1
        self.drawn = 0
        self._found: list[int] | None = None
        self._cache: LRUCache[tuple[Item, int, str, bool], list[Strip]] = LRUCache(CACHED_ROWS)

    @property
    def tall(self) -> int:
        """Lines per item."""
        return 1

    def row(self, item: Item, width: int, chosen: bool) -> Row:
        """One row, without the selection mark."""
        raise NotImplementedError

    def rows(self, item: Item, width: int, chosen: bool) -> list[Row]:
        """The ``tall`` lines of an item, without the selection mark."""
        return [self.row(item, width, chosen)]

    def finds(self, item: Item, query: str) -> bool:
        """Whether an item matches the filter."""
        return True

    def empty(self, width: int) -> list[Row]:
        """The text for an empty list."""
        return []

    @property
    def row_count(self) -> int:
        """The number of rows after filtering."""
        return len(self.items) if self._found is None else len(self._found)

    @property
    def selected(self) -> Item | None:
        return self._item(self.cursor) if 0 <= self.cursor < self.row_count else None

    def item_at(self, row: int) -> Item:
        """The item at a row, from 0, after filtering."""
        return self._item(row)

    def show(self, items: Sequence[Item]) -> None:
        """Replaces the items; keeps the selection if the item still exists."""
        if items == self.items and items:
            return
        before, in_view = self.selected, self._in_view()
        start = len(self.items) if self._grown(items) else 0
        self.items = items
        self.taken(start)
        if self.query_text:
            fresh = [at for at in range(start, len(items)) if self.finds(items[at], self.query_text)]
            self._found = [*(self._found or []), *fresh] if start else fresh
        self._settle(before, unseen=self._in_view() == in_view)

    def taken(self, start: int) -> None:
        """The items were replaced; those before ``start`` are unchanged."""

    def filter(self, query: str) -> None:
        """Shows only matching rows; an empty query shows all."""
        if query == self.query_text:
            return
        before = self.selected
        self.query_text = query
        self._found = [at for at, item in enumerate(self.items) if self.finds(item, query)] if query else None
        self._settle(before)

    def select(self, index: int, *, by_hand: bool = True) -> None:
        """Selects a row and scrolls to it."""
        index = max(0, min(index, self.row_count - 1)) if self.row_count else -1
        before, self.cursor = self.cursor, index
        self.reveal()
        if before != index:
            for row in (before, index):
                if row >= 0:
                    self.refresh_row(row)
            self.summarise()
            self.post_message(self.Moved(self, by_hand))

    def move(self, motion: Motion) -> None:
        half = max(1, self.size.height // self.tall // 2)
        self.select(moved(motion, self.cursor, self.row_count - 1, half))

    def refresh_row(self, row: int) -> None:
        for line in range(row * self.tall, (row + 1) * self.tall):
            self.refresh_line(line)

    def _grown(self, items: Sequence[Item]) -> bool:
        """Whether the new items are the old ones with more appended."""
        # Comparing lists is fast for identical items, which long feeds rely on.
        before = len(self.items)
        return before <= len(items) and list(items[:before]) == list(self.items)

    def _in_view(self) -> tuple[int, list[Item]]:
        """The selected row and the visible items."""
        top, tall = self.scroll_offset.y, self.tall
        rows = range(top // tall, min(-(-(top + self.size.height) // tall), self.row_count))
        return self.cursor, [self._item(row) for row in rows]

    def _fit(self) -> None:
        # Pads the height so that scrolling to the end shows only complete items.
        over = self.size.height % self.tall
        self.virtual_size = Size(self.size.width, self.row_count * self.tall + over)

    def _settle(self, before: Item | None, *, unseen: bool = False) -> None:
        self._fit()
        self.cursor = self._index_of(before)
        self.reveal()
        if not unseen:
            self.refresh()
        self.summarise()
        if self.selected != before:
            self.post_message(self.Moved(self, False))

    def _index_of(self, item: Item | None) -> int:
        """The row of an item; if it is gone, the row nearest to its old place."""
        size = self.row_count
        if item is None or not size:
            return size - 1
        near = min(max(self.cursor, 0), size - 1)
        if self._item(near) == item:
            return near
        return next((at for at in range(size - 1, -1, -1) if self._item(at) == item), near)

    def _item(self, row: int) -> Item:
        return self.items[row if self._found is None else self._found[row]]

    def reveal(self) -> None:
        """Scrolls to the selection."""
        height, tall = self.size.height, self.tall
        if not height or self.cursor < 0:
            return
        top, bottom = self.cursor * tall, (self.cursor + 1) * tall
        if top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        elif bottom > self.scroll_offset.y + height:
            self.scroll_to(y=-(-(bottom - height) // tall) * tall, animate=False, force=True)

    def on_resize(self) -> None:
        self._cache.clear()
        self._fit()
        self.reveal()
        self.summarise()
        self.refresh()

    def forget_drawn(self) -> None:
        """Redraws all rows."""
        self._cache.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._cache.clear()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        row = (offset.y + self.scroll_offset.y) // self.tall if offset is not None else self.row_count
        if row < self.row_count:
            self.select(row)

    def render_line(self, y: int) -> Strip:
        """Draws one visible line, using the cache."""
        width = self.size.width
        at, line = divmod(y + self.scroll_offset.y, self.tall)
        if at >= self.row_count:
            note = self.empty(width) if not self.row_count else []
            return note[y].strip(width, self.under) if y < len(note) else Strip.blank(width, self.under)
        item = self._item(at)
        chosen = at == self.cursor
        key = (item, width, self.query_text, chosen)
        strips = self._cache.get(key)
        if strips is None:
            self.drawn += 1
            strips = self._draw(item, width, chosen)
            self._cache.set(key, strips)
        return strips[line]

    def _draw(self, item: Item, width: int, chosen: bool) -> list[Strip]:
        roles = self.roles
        mark = (MARK if chosen else " ", roles.accent if self.has_focus else roles.faint)
        lit = chosen and (self.has_focus or self.always_lit)
        under = self.under + (roles.selection if lit else Style())
        return [Row(mark).extend(row).strip(width, under) for row in self.rows(item, width - 1, lit)]
