"""The ledger screen: what happened to every conversation, and whether it still holds (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from tui.kit.bridge import ALL_PARTS
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.ledger.entries import EntriesPanel, draw_none
from tui.screens.ledger.record import RecordPage, RecordView
from tui.screens.ledger.state import Check, Entries, LedgerState, check_entry, read_entries

if TYPE_CHECKING:
    from tui.kit.bench import Bench

BROAD = 150
"""Minimum columns for the entry next to the list."""


class LedgerLayout(ListDetail):
    """Shows the ledger.

    Args:
        sha256: The entry to select first; the newest by default.
    """

    AUTO_FOCUS = "#entries"
    CSS_PATH: ClassVar[CSSPathType | None] = "ledger.tcss"
    area = "records"
    line = "entries-filter"
    news = ALL_PARTS
    burst_s = 0.5  # a harvest writes several files for each conversation

    def __init__(self, bench: Bench, sha256: str = "") -> None:
        super().__init__(bench, "entries")
        self.state = LedgerState()
        engine = bench.engine
        self._reads: Lane[None, Entries] = self.lane(
            lambda _none: read_entries(engine.knowledge),
            lambda _none, read: self._take(read),
            lambda _none, problem: self._take(Entries(problem=problem)),
        )
        self._checks: Lane[str, Check] = self.lane(
            lambda sha256: check_entry(engine.knowledge, sha256),
            self._take_check,
            lambda sha256, problem: self._take_check(sha256, Check(problem=problem)),
        )
        self._begin_with = sha256
        self._checking = ""

    def body(self) -> ComposeResult:
        self.entries = EntriesPanel(id="entries")
        self.record = RecordPage(id="record")
        with Container(id="records"):
            yield self.entries
            yield self.record

    def on_screen_resume(self) -> None:
        """Reads the ledger again, as the harvest screen may have changed it."""
        if self.listening:
            self.look()

    def look(self) -> None:
        self._checking = ""
        self._reads.ask(None)

    # Display

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {**super().shape(shown), "-broad": self.app.size.width >= BROAD}

    def show(self) -> None:
        state = self.state
        about = (state.phase, state.problem, state.only, self.entries.query_text)
        self.entries.show_entries(
            state.items, self._note, about, only=state.only, total=state.total, below=state.result
        )
        if self._begin_with and state.phase == "found":
            self.entries.select_key(self._begin_with)
            self._begin_with = ""
        self.show_record()
        self.update_footer()

    def show_record(self) -> None:
        """Shows the selected entry and checks it against the files."""
        item = self.entries.selected
        if item is None:
            self.record.show_view(None)
            return
        self.record.show_view(
            RecordView(item, self.state.checks.get(item.sha256, Check()), self.bench.key_of("open_review"))
        )
        if self._checking != item.sha256:
            self._checking = item.sha256
            self._checks.ask(item.sha256)

    def _note(self, width: int, roles: Roles) -> list[Row]:
        state, query = self.state, self.entries.query_text
        filters = (f"has status {state.only}" if state.only else "", f"matches “{query}”" if query else "")
        narrowed = " and ".join(filter(None, filters))
        return draw_none(
            state.phase,
            state.problem,
            broken=state.broken,
            narrowed=narrowed if state.total else "",
            width=width,
            roles=roles,
        )

    # Results

    def _take(self, read: Entries) -> None:
        before = self.state.phase
        self.state.take(read)
        self.show()
        if before == "loading":
            self.call_after_refresh(self.keep_focus)

    def _take_check(self, sha256: str, check: Check) -> None:
        self.state.checks = {sha256: check}
        self.show_record()
        self.update_footer()

    # Input

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.entries:
            self.show_record()
        self.update_footer()

    def narrow(self, query: str) -> None:
        self.entries.filter(query)
        self.show()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_line()
