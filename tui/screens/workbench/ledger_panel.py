"""Panel 4: what was harvested from each conversation."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.context.views import LedgerRow, LedgerView
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.safe import first_line
from tui.screens.workbench.ledger import items_text, ledger_line, ledger_note, ledger_row, matches, state_of


@dataclass(frozen=True, slots=True)
class LedgerItem:
    """A ledger entry as a list item: found by its hash, since its dictionary of items has none."""

    sha256: str
    row: LedgerRow = field(hash=False)


class LedgerPanel(RowList[LedgerItem]):
    """The ledger, newest entry first; the selected entry's items or error stand at the lower edge."""

    name_of = "ledger"
    number = "4"
    words = "ledger"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view: LedgerView | None = None

    def show_view(self, view: LedgerView) -> None:
        """Shows another state of the ledger."""
        self.view = view
        first = not self.items
        self.show([LedgerItem(row.sha256, row) for row in view.entries])
        if first and self.row_count:
            self.select(0, by_hand=False)

    def row(self, item: LedgerItem, width: int, chosen: bool) -> Row:
        """A ledger entry."""
        return ledger_row(item.row, width, self.roles, self.query_text, chosen)

    def finds(self, item: LedgerItem, query: str) -> bool:
        """By name, error, status and hash."""
        return matches(item.row, query)

    def empty(self, width: int) -> list[Row]:
        """What a ledger is, or what is wrong with it."""
        if self.view is None:
            return [Row(("reading …", self.roles.faint))]
        if self.query_text and self.view.entries:
            return [Row(("nothing holds these words", self.roles.muted))]
        return ledger_note(self.view, self.roles, width)

    def summarise(self) -> None:
        """Totals beside the title; what the selected entry brought, or why it failed, below."""
        if self.view is None:
            return
        if self.query_text:
            beside = f"{count(self.row_count)} of {count(len(self.items))}"
        else:
            beside = ledger_line(self.view) if self.view.entries else ""
        selected = self.selected
        if selected is None:
            self.set_frame(beside, f"/{self.query_text}" if self.query_text else "")
            return
        row = selected.row
        below = first_line(row.error) or items_text(row) or state_of(row)[1]
        self.set_frame(beside, below, trouble=row.status == "harvest-failed")

    def selected_text(self) -> str:
        """Name, hash and error."""
        if self.selected is None:
            return ""
        row = self.selected.row
        return " ".join(part for part in (row.name, row.sha256, row.status, row.error) if part)
