"""Panel 1 of the ledger screen: the entries, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.ledger.entries import RecordItem, draw_record, finds, where_of

Note = Callable[[int, Roles], list[Row]]


class EntriesPanel(RowList[RecordItem]):
    """A line for each; why the selected one failed, or what verifying came to, stands at the lower edge."""

    name_of = "entries"
    number = "1"
    words = "entries"
    always_lit = True
    signs = (
        ("✓", "harvested: its knowledge stands in the files"),
        ("!", "the harvest failed; the conversation is kept, and f tries again"),
        ("⌫", "discarded without a harvest, by your word"),
        ("–", "too large to be harvested; kept"),
        ("✗", "lost: verified, and its bytes are neither in its file nor in trash or history"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._note: Note = lambda _width, _roles: []
        self._about: object = None
        self.only = ""
        self.below = ""
        self.whole = 0

    def show_items(
        self, items: Sequence[RecordItem], note: Note, about: object, *, only: str, whole: int, below: str
    ) -> None:
        """Shows another state.

        Args:
            items: The rows.
            note: Draws what stands where there are none.
            about: What ``note`` depends on, so that it is drawn again when that changes.
            only: The status that the rows are kept to.
            whole: How many entries there are in all.
            below: What stands at the lower edge before what is known of the selected one.
        """
        first, again = not self.items, about != self._about
        self._note, self._about, self.only, self.whole, self.below = note, about, only, whole, below
        if list(items) != list(self.items):
            self._cache.clear()  # names take as much room as the longest
            self.show(items)
            if not items:
                self.refresh()
            elif first:
                self.select(0, by_hand=False)
        elif again and not items:
            self.refresh()
        self.summarise()

    def go_to(self, sha256: str) -> None:
        """Selects an entry, where it is in view."""
        at = next((row for row in range(self.row_count) if self.item_at(row).sha256 == sha256), -1)
        if at >= 0:
            self.select(at, by_hand=False)

    def _grown(self, items: Sequence[RecordItem]) -> bool:
        """A row in the middle may be another, so this list never only grows."""
        return False

    def _index_of(self, item: RecordItem | None) -> int:
        """Where an entry is now, whatever became of it."""
        size = self.row_count
        if item is None or not size:
            return 0 if size else -1
        at = next((row for row in range(size) if self.item_at(row).sha256 == item.sha256), -1)
        return at if at >= 0 else min(max(self.cursor, 0), size - 1)

    def row(self, item: RecordItem, width: int, chosen: bool) -> Row:
        """An entry."""
        return draw_record(item, self.items, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: RecordItem, query: str) -> bool:
        """Whether an entry holds the filter's words."""
        return finds(item, query)

    def empty(self, width: int) -> list[Row]:
        """Why there are none."""
        return self._note(width, self.roles)

    def summarise(self) -> None:
        """How many are in view, what they are narrowed to; below, why the selected one failed."""
        parts = [count(self.row_count)] if self.row_count == self.whole else []
        if not parts and self.whole:
            parts.append(f"{count(self.row_count)} of {count(self.whole)}")
        parts += [self.only, f"/{self.query_text}" if self.query_text else ""]
        item = self.selected
        error = first_line(item.entry.error) if item is not None else ""
        self.set_frame(
            " · ".join(filter(None, parts)) if self.whole else "", self.below or error,
            trouble=bool(error) and not self.below,
        )  # fmt: skip

    def selected_text(self) -> str:
        """The selected entry as a line."""
        item = self.selected
        if item is None:
            return ""
        entry = item.entry
        parts = (
            item.sha256,
            entry.status,
            entry.at,
            str(entry.total),
            where_of(entry),
            entry.path,
            entry.error,
        )
        return " ".join(filter(None, parts))
