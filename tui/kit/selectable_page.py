"""A page with selectable parts: facts, and below them lines or files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.kit.rows import RowList
from tui.render.draw import Row

FACT = -1
"""Instead of a number: the row is not selectable."""


@dataclass(frozen=True, slots=True)
class PageLine:
    """A row of the page: its index, the number of the part it belongs to, and its text."""

    at: int
    line: int
    text: str


class SelectablePage(RowList[PageLine]):
    """Draws a page as a whole; a selectable part may take several rows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[Row] = []
        self._drawn_at = 0

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        """The page's rows, each with the number of the part it belongs to, or ``FACT``."""
        return []

    def initial_row(self) -> int:
        """The row to select on a new page."""
        return 0

    def redraw(self, *, other: bool = False) -> None:
        """Redraws the page; ``other`` means it is a new one, shown from its top."""
        width = self.size.width - 1
        self._drawn_at = width
        drawn = self.draw_page(width) if width > 0 else []
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
