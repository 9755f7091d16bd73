"""Lists with a selection, of any length; only visible rows are drawn, and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui.kit.panel import Motion, Panel, moved
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.render.table import MARK

Item = TypeVar("Item")
View = TypeVar("View")

CACHED_ROWS = 2048
FACT = -1
"""Instead of a number: the row is not selectable."""


class RowList(Panel, Generic[Item]):
    """A panel of rows; 100,000 rows cost as much as a screenful.

    Subclasses define how a row looks (``row``), what a filter matches (``finds``) and the text for an empty
    list (``empty``). Items must be hashable, as they are keys of the row cache.
    """

    always_lit: ClassVar[bool] = False
    """Whether the selection is shown without the focus, because other panels depend on it."""
    heads: ClassVar[int] = 0
    """Lines of ``headings`` above the rows, which scroll below it."""

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

    def headings(self, width: int) -> list[Row]:
        """The names of the columns, and what else does not scroll; not shown above an empty list."""
        return []

    def finds(self, item: Item, query: str) -> bool:
        """Whether an item matches the filter."""
        return True

    def empty(self, width: int) -> list[Row]:
        """The text for an empty list."""
        return []

    def text_of(self, item: Item) -> str:
        """What is copied of an item."""
        return ""

    def selected_text(self) -> str:
        return self.text_of(self.selected) if self.selected is not None else ""

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
        half = max(1, self.room // self.tall // 2)
        self.select(moved(motion, self.cursor, self.row_count - 1, half))

    def turn(self, step: int) -> None:
        if self.row_count:
            self.select((self.cursor + step) % self.row_count)

    @property
    def room(self) -> int:
        """Lines for rows."""
        return max(0, self.size.height - self.heads)

    def rest(self) -> int:
        return self.row_count - (self.scroll_offset.y + self.room) // self.tall

    def refresh_row(self, row: int) -> None:
        for line in range(row * self.tall, (row + 1) * self.tall):
            self.refresh_line(line + self.heads)

    def _grown(self, items: Sequence[Item]) -> bool:
        """Whether the new items are the old ones with more appended."""
        # Comparing lists is fast for identical items, which long feeds rely on.
        before = len(self.items)
        return before <= len(items) and list(items[:before]) == list(self.items)

    def _in_view(self) -> tuple[int, list[Item]]:
        """The selected row and the visible items."""
        top, tall = self.scroll_offset.y, self.tall
        rows = range(top // tall, min(-(-(top + self.room) // tall), self.row_count))
        return self.cursor, [self._item(row) for row in rows]

    def _fit(self) -> None:
        # Pads the height so that scrolling to the end shows only complete items.
        over = self.room % self.tall
        self.virtual_size = Size(self.size.width, self.heads + self.row_count * self.tall + over)

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
        height, tall = self.room, self.tall
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
        line = offset.y - self.heads if offset is not None else -1
        row = (line + self.scroll_offset.y) // self.tall
        if line >= 0 and row < self.row_count:
            self.select(row)

    def render_line(self, y: int) -> Strip:
        """Draws one visible line, using the cache."""
        width = self.size.width
        if self.row_count:
            if y < self.heads:
                return Row().gap().extend(self.headings(width - 1)[y]).strip(width, self.under)
            y -= self.heads
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


Note = Callable[[int, Roles], list[Row]]
"""Draws the text for an empty list at a width."""


class KeyedRows(RowList[Item]):
    """Identifies items by ``key``, so the selection stays on an item when it changes."""

    aligned: ClassVar[bool] = False
    """Whether a row depends on all items, such as for column widths."""

    head = ""
    """The text next to the title."""
    below = ""
    """The text at the lower edge, before the filter."""
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
        else:
            before, self.items = self.items, items
            changed = [row for row, (old, new) in enumerate(zip(before, items, strict=True)) if old != new]
            if changed and self.aligned:
                self._cache.clear()
                self.refresh()
            else:
                for row in changed:
                    self.refresh_row(row)
        self.summarise()

    def summarise(self) -> None:
        self.set_frame(self.head, " · ".join(filter(None, (self.below, self.filter_label))))

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


@dataclass(frozen=True, slots=True)
class PageLine:
    """A row of the page: its index, the number of the part it belongs to, and its text."""

    at: int
    line: int
    text: str


class SelectablePage(RowList[PageLine], Generic[View]):
    """Draws a view as a whole; a selectable part of it may take several rows."""

    view: View | None = None
    nothing: ClassVar[str]
    """Shown without a view."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[Row] = []
        self._drawn_at = 0

    def subject(self, view: View) -> object:
        """What a view is about; one of something else is shown from its top."""
        raise NotImplementedError

    def draw_view(self, view: View, width: int) -> list[tuple[Row, int]]:
        """The view's rows, each with the number of the part it belongs to, or ``FACT``."""
        raise NotImplementedError

    def show_view(self, view: View | None) -> None:
        if view == self.view:
            return
        before, self.view = self.view, view
        self.redraw(other=before is None or view is None or self.subject(before) != self.subject(view))
        self.summarise()

    def empty(self, width: int) -> list[Row]:
        return [Row((self.nothing, self.roles.faint))]

    def initial_row(self) -> int:
        """The row to select on a new page."""
        return 0

    def redraw(self, *, other: bool = False) -> None:
        """Redraws the page; ``other`` means it is a new one, shown from its top."""
        width = self.size.width - 1
        self._drawn_at = width
        drawn = self.draw_view(self.view, width) if self.view is not None and width > 0 else []
        before, self._rows = self._rows, [row for row, _line in drawn]
        items = [PageLine(at, line, row.text) for at, (row, line) in enumerate(drawn)]
        if [row.pieces for row in before] != [row.pieces for row in self._rows]:
            self._cache.clear()
            if items == self.items:
                self.refresh()
            else:
                self.show(items)
            self.summarise()
        if other and self.items:
            self.scroll_to(y=0, animate=False, force=True)
            self.select(self.initial_row(), by_hand=False)

    def _grown(self, items: Sequence[PageLine]) -> bool:
        return False  # a page is always redrawn as a whole

    def _index_of(self, item: PageLine | None) -> int:
        """The row of the same part, or else the same row."""
        size = self.row_count
        if item is None or not size:
            return 0 if size else -1
        if item.line != FACT:
            at = next((at for at, each in enumerate(self.items) if each.line == item.line), -1)
            if at >= 0:
                return at
        return min(max(self.cursor, 0), size - 1)

    def on_resize(self) -> None:
        if self.size.width - 1 != self._drawn_at:
            self.redraw()
        super().on_resize()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.redraw()

    def row(self, item: PageLine, width: int, chosen: bool) -> Row:
        return Row().extend(self._rows[item.at]) if item.at < len(self._rows) else Row()

    @property
    def line(self) -> int:
        """The number of the selected part; ``FACT`` if none."""
        return self.selected.line if self.selected is not None else FACT

    def selected_text(self) -> str:
        """The whole page."""
        return "\n".join(row.text.rstrip() for row in self._rows)
