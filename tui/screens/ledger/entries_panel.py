"""Panel 1 of the ledger screen: the entries, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.safe import first_line
from tui.screens.ledger.entries import RecordItem, draw_record, finds, where_of


class EntriesPanel(KeyedRows[RecordItem]):
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

    aligned = True
    only = ""
    below = ""
    whole = 0

    def key(self, item: RecordItem) -> str:
        """The entry, whatever becomes of it."""
        return item.sha256

    def show_entries(
        self, items: Sequence[RecordItem], note: Note, about: object, *, only: str, whole: int, below: str
    ) -> None:
        """Shows another state.

        Args:
            only: The status that the rows are kept to.
            whole: How many entries there are in all.
            below: What stands at the lower edge before what is known of the selected one.
        """
        self.only, self.whole, self.below = only, whole, below
        self.show_items(items, note, about)
        self.summarise()

    def go_to(self, sha256: str) -> None:
        """Selects an entry, where it is in view."""
        at = next((row for row in range(self.row_count) if self.item_at(row).sha256 == sha256), -1)
        if at >= 0:
            self.select(at, by_hand=False)

    def row(self, item: RecordItem, width: int, chosen: bool) -> Row:
        """An entry."""
        return draw_record(item, self.items, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: RecordItem, query: str) -> bool:
        """Whether an entry holds the filter's words."""
        return finds(item, query)

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
