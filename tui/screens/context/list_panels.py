"""Panels 1, 3 and 4 of the context screen: sections by layer, what was left out, budget by slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from engine.context.compiled import Compiled
from tui.kit.panel import LinesPanel
from tui.kit.rows import RowList
from tui.render.budget import budget_frame, budget_lines
from tui.render.draw import Row, wrap
from tui.screens.context.lists import Columns, ListItem, SectionItem, draw_item


class EntryList(RowList[ListItem]):
    """Rows with headings and rules between them, which the selection skips."""

    always_lit = True
    reasons: ClassVar[bool] = False
    """Whether to show the reason instead of the share of the budget."""
    note = ""
    is_error = False
    _columns = Columns()
    _words = ""

    @property
    def entry(self) -> SectionItem | None:
        chosen = self.selected
        return chosen if isinstance(chosen, SectionItem) else None

    def show_list(
        self, items: Sequence[ListItem], index: int, *, query: str = "", note: str = "", error: bool = False
    ) -> None:
        """Shows a new list.

        Args:
            index: The index of the entry to select.
            query: Text to highlight.
            note: Shown if there are no rows.
            error: Whether the note is an error.
        """
        if items is not self.items:
            columns = Columns.of(items, reasons=self.reasons)
            if (columns, query) != (self._columns, self._words):
                self._columns, self._words = columns, query
                self._cache.clear()
                self.refresh()
            self.show(items)
        if not items and (note, error) != (self.note, self.is_error):
            self.refresh()
        self.note, self.is_error = note, error
        self.select_entry(index)

    def select_entry(self, index: int) -> None:
        """Selects the entry with an index, or the first one if it is not listed."""
        rows = ((at, item) for at, item in enumerate(self.items) if isinstance(item, SectionItem))
        self.select(next((at for at, item in rows if item.index == index), 0), by_hand=False)

    def select(self, index: int, *, by_hand: bool = True) -> None:
        """Selects a row; from a heading, the nearest entry in the direction of movement."""
        size = self.row_count
        if not size:
            return
        index = max(0, min(index, size - 1))
        ahead, back = range(index, size), range(index, -1, -1)
        for way in (ahead, back) if index >= self.cursor else (back, ahead):
            at = next((at for at in way if isinstance(self.items[at], SectionItem)), None)
            if at is not None:
                super().select(at, by_hand=by_hand)
                return

    def reveal(self) -> None:
        """Scrolls to the selection and the headings directly above it."""
        super().reveal()
        top = self.cursor
        while top > 0 and not isinstance(self.items[top - 1], SectionItem):
            top -= 1
        if self.size.height > self.cursor - top and top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)

    def _index_of(self, item: ListItem | None) -> int:
        """Keeps the cursor; the screen sets the selection."""
        return min(max(self.cursor, 0), self.row_count - 1)

    def row(self, item: ListItem, width: int, chosen: bool) -> Row:
        return draw_item(item, width, self.roles, self._columns, query=self._words, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        roles = self.roles
        if self.is_error:
            return wrap([("! ", roles.error), (self.note, roles.error)], width, indent=2)
        return wrap([(self.note, roles.muted)], width)

    def selected_text(self) -> str:
        entry = self.entry
        if entry is None:
            return ""
        score = "" if entry.score is None else f" {entry.score:.4f}"
        return f"P{entry.priority} {entry.kind} {entry.place} {entry.tokens}{score} {entry.note}"


class SectionsPanel(EntryList):
    """Panel 1: the sections by layer, or the changed ones in a comparison."""

    name_of = "sections"
    number = "1"
    words = "sections"
    signs = (
        ("━", "end of the stable prefix: everything above is the same for every message"),
        ("┄", "cache boundary: a provider may cache everything above"),
        ("▇", "share of the token budget; at least one cell"),
        ("P0", "budget priority, 0 to 4; the number before a layer's name is its position, 1 to 12"),
        ("+", "in a comparison: added; - removed, ~ changed, > moved"),
    )


class LeftOutPanel(EntryList):
    """Panel 3: what was left out."""

    name_of = "left-out"
    number = "3"
    words = "left out"
    signs = (
        ("P0", "budget priority, 0 to 4"),
        (".62", "search score"),
        ("▸", "search results that were left out; enter shows or hides them"),
    )
    reasons = True


class SlotsPanel(LinesPanel):
    """Panel 4: use and cap of each slot."""

    name_of = "slots"
    number = "4"
    words = "budget"

    _whole: Compiled | None = None
    _budget: Compiled | None = None

    @property
    def row_count(self) -> int:
        return 1 if self._whole is not None else 0

    def show(self, compiled: Compiled | None) -> None:
        if compiled is None or compiled is not self._whole:
            self._whole = compiled
            self._budget = replace(compiled, left_out=()) if compiled is not None else None
            self.set_frame(below=budget_frame(compiled))
            self.changed()

    def draw(self, width: int, height: int) -> list[Row]:
        if self._budget is None:
            return []
        return budget_lines(self._budget, width, height, self.roles, coloured=self.coloured)
