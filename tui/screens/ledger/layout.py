"""The ledger screen: what became of every conversation, and whether that is still so (design 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.ledger.entries import draw_none
from tui.screens.ledger.entries_panel import EntriesPanel
from tui.screens.ledger.record import RecordView
from tui.screens.ledger.record_panel import RecordPage
from tui.screens.ledger.state import LedgerState
from tui.screens.ledger.work import (
    EntriesRead,
    EntryChecked,
    LedgerChanged,
    LedgerWork,
    Verified,
    Verifying,
)

if TYPE_CHECKING:
    from tui.kit.bench import Bench

BROAD = 150
"""Columns from which the entry stands beside the entries."""
LOW = 20
"""Lines below which one panel at a time is in view."""


class LedgerLayout(FullScreen):
    """The screen on what became of conversations.

    Args:
        bench: The workbench it was opened from.
        sha256: The entry to begin with; the newest when left out.
    """

    AUTO_FOCUS = "#entries"
    CSS_PATH: ClassVar[CSSPathType | None] = "ledger.tcss"
    area = "records"
    work: LedgerWork
    line = "entries-filter"
    burst_s = 0.5  # a harvest writes several files for each conversation

    def __init__(self, bench: Bench, sha256: str = "") -> None:
        super().__init__(bench, "entries")
        self.state = LedgerState()
        self.work = LedgerWork(bench.engine, self.post_message)
        self._wanted = sha256
        self._checking = ""

    def body(self) -> ComposeResult:
        """The entries, and the selected one."""
        self.entries = EntriesPanel(id="entries")
        self.record = RecordPage(id="record")
        with Container(id="records"):
            yield self.entries
            yield self.record

    def below(self) -> ComposeResult:
        """The line."""
        yield self.prompt

    def begin(self) -> None:
        """Reads the ledger."""
        self.work.read()

    def on_screen_resume(self) -> None:
        """A harvest may have been over it."""
        if self.listening:
            self.look()

    def look(self) -> None:
        """Reads the ledger again, and where the selected entry's lines stand."""
        self._checking = ""
        self.work.read()

    # What is on the screen

    @property
    def alone(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        if self.alone:
            return ("record",) if self._panel == "record" else ("entries",)
        return ("entries", "record")

    @property
    def _panel(self) -> str:
        return self.panel_before if self.in_line else self.panel_in_use

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self.in_view()
        self.lay_out_frame({"-broad": self.app.size.width >= BROAD, "-alone": len(shown) == 1})
        for panel in (self.entries, self.record):
            panel.display = panel.name_of in shown

    def focus_panel(self, name: str) -> None:
        """Gives a panel the keys; where only one has room, the place as well."""
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.in_line and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        """Where only one panel has room, the one with the keys has it."""
        if self.alone:
            self.lay_out()

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        state = self.state
        about = (state.phase, state.problem, state.only, self.entries.query_text)
        self.entries.show_items(
            state.items, self._note, about, only=state.only, whole=state.whole, below=state.result
        )
        if self._wanted and state.phase == "found":
            self.entries.go_to(self._wanted)
            self._wanted = ""
        self.show_record()
        self.update_footer()

    def show_record(self) -> None:
        """Shows the selected entry, and asks where its lines stand."""
        item = self.entries.selected
        if item is None:
            self.record.show_view(None)
            return
        known = self.state.check_of(item.sha256)
        view = RecordView(item, review_key=self.bench.key_of("open_review"))
        if known is not None:
            view = replace(view, checked=known.checked, waiting=known.waiting, problem=known.problem)
        self.record.show_view(view)
        if self._checking != item.sha256:
            self._checking = item.sha256
            self.work.check(item.sha256)

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no entries."""
        state, query = self.state, self.entries.query_text
        narrowed = " and ".join(filter(None, (state.only, f"like “{query}”" if query else "")))
        return draw_none(
            state.phase,
            state.problem,
            broken=state.broken,
            narrowed=narrowed if state.whole else "",
            width=width,
            roles=roles,
        )

    # What comes in

    @on(EntriesRead)
    def _entries_read(self, read: EntriesRead) -> None:
        before = self.state.phase
        self.state.take(read)
        self.show()
        if before == "loading":
            self.call_after_refresh(self.keep_focus)

    @on(EntryChecked)
    def _entry_checked(self, checked: EntryChecked) -> None:
        self.state.take_check(checked)
        self.show_record()
        self.update_footer()

    @on(Verifying)
    def _verifying(self, verifying: Verifying) -> None:
        self.state.verifying = verifying.done
        self.show()

    @on(Verified)
    def _verified(self, verified: Verified) -> None:
        self.state.take_tally(verified.tally)
        self.show()
        if verified.tally is not None and (verified.tally.lost or not self.entries.display):
            self.say(str(verified.tally), trouble=bool(verified.tally.lost))

    @on(LedgerChanged)
    def _ledger_changed(self) -> None:
        self.look()

    def heard(self, burst: Burst) -> None:
        """Files changed: looks again."""
        if burst.parts:
            self.look()

    # What a person does

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.panel is self.entries:
            self.show_record()
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        self.entries.filter(edited.value)
        self.show()

    @on(PromptLine.Entered)
    def _entered(self) -> None:
        self.leave_line()
