"""Panel 2 of the ledger screen: the selected entry, with a selection that goes through its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.screens.ledger.record import FACT, RecordView, draw_record_page, line_of


@dataclass(frozen=True, slots=True)
class PageLine:
    """A row of the page: which one, the ledger line that it belongs to, and what it says."""

    at: int
    line: int
    text: str


class RecordPage(RowList[PageLine]):
    """Facts, then the lines that the conversation gave; a long line takes several rows."""

    name_of = "record"
    number = "2"
    words = "entry"
    signs = (
        ("✓", "there: the line stands word for word, where it says"),
        ("~", "edited: a line of the same conversation stands there with other words"),
        ("✗", "gone: nothing of it that it could be; a person may have deleted it, which is no damage"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: RecordView | None = None
        self._rows: list[Row] = []
        self._drawn_at = 0

    def show_view(self, view: RecordView | None) -> None:
        """Shows another entry, or more about the same."""
        if view == self.view:
            return
        same = view is not None and self.view is not None and view.item.sha256 == self.view.item.sha256
        self.view = view
        self._build()
        if not same and self.items:
            self.select(0, by_hand=False)
            self.scroll_to(y=0, animate=False, force=True)

    def _build(self) -> None:
        width = self.size.width - 1
        self._drawn_at = width
        drawn = draw_record_page(self.view, width, self.roles) if self.view is not None and width > 0 else []
        before, self._rows = self._rows, [row for row, _line in drawn]
        items = [PageLine(at, line, row.text) for at, (row, line) in enumerate(drawn)]
        if [row.pieces for row in before] == [row.pieces for row in self._rows]:
            return
        self._cache.clear()
        if items == self.items:
            self.refresh()
        else:
            self.show(items)
        self.summarise()

    def _grown(self, items: Sequence[PageLine]) -> bool:
        """Rows are drawn anew together."""
        return False

    def _index_of(self, item: PageLine | None) -> int:
        """The same line of the ledger; where it was on none, the same row."""
        size = self.row_count
        if item is None or not size:
            return 0 if size else -1
        if item.line != FACT:
            at = next((at for at, each in enumerate(self.items) if each.line == item.line), -1)
            if at >= 0:
                return at
        return min(max(self.cursor, 0), size - 1)

    def on_resize(self) -> None:
        """Another width breaks lines elsewhere."""
        if self.size.width - 1 != self._drawn_at:
            self._build()
        super().on_resize()

    def notify_style_update(self) -> None:
        """A theme or the focus changed."""
        super().notify_style_update()
        if self.is_mounted:
            self._build()

    def row(self, item: PageLine, width: int, chosen: bool) -> Row:
        """A row as it was drawn for the whole page."""
        return Row().extend(self._rows[item.at]) if item.at < len(self._rows) else Row()

    def empty(self, width: int) -> list[Row]:
        """That none is selected."""
        return [Row(("no entry is selected", self.roles.faint))]

    @property
    def line(self) -> int:
        """Which line of the ledger is selected; ``FACT`` for none."""
        return self.selected.line if self.selected is not None else FACT

    def summarise(self) -> None:
        """The selected line's place."""
        view = self.view
        if view is None:
            self.set_frame()
            return
        checked = line_of(view, self.line)
        below = f"{checked.path}:{checked.number}" if checked is not None and checked.number else ""
        self.set_frame(view.item.sha256[:12], below)

    def selected_text(self) -> str:
        """The whole page."""
        return "\n".join(row.text.rstrip() for row in self._rows)
