"""What the ledger screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui import clipboard
from tui.commands import ledger
from tui.commands.command import RecordPanel
from tui.editor import file_of
from tui.render.ledger_entries import RecordItem
from tui.render.ledger_record import line_of
from tui.safe import visible
from tui.screens.harvest import HarvestScreen
from tui.screens.screen_actions import ScreenActions

if TYPE_CHECKING:
    from engine.knowledge.verify import CheckedLine
    from tui.screens.ledger import LedgerScreen

NAME = 60
"""Characters of a conversation's path in a question."""


class LedgerActions(ScreenActions[RecordPanel]):
    """The actions of one ledger screen."""

    screen: LedgerScreen

    def __init__(self, screen: LedgerScreen) -> None:
        super().__init__(screen)
        self.doing |= {
            ledger.Leave: self.back,
            ledger.FocusEntries: partial(self.go_to, "entries"),
            ledger.FocusRecord: partial(self.go_to, "record"),
            ledger.Read: partial(self.go_to, "record"),
            ledger.OpenLine: self.edit,
            ledger.EditThere: self.edit,
            ledger.HarvestNow: self.harvest,
            ledger.RetryFailed: self.retry,
            ledger.Restore: self.restore,
            ledger.Verify: self.verify,
            ledger.Rebuild: self.rebuild,
            ledger.NextStatus: self.next_status,
            ledger.Filter: self.filter,
            ledger.CopyIt: self.copy_it,
            ledger.CopyText: self.copy,
        }

    # Moving about

    def stops(self) -> tuple[RecordPanel, ...]:
        """The panels, in view or not: where only one has room, tab brings the other."""
        return ("entries", "record") if self.screen.zoomed is None else self.screen.in_view()

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen = self.screen
        if screen.in_line:
            self._narrow("")
            screen.leave_line()
        elif screen.zoomed is not None:
            self.unzoom()
        elif screen.alone and screen.panel_in_use == "record":
            screen.focus_panel("entries")
        elif screen.entries.query_text:
            self._narrow("")
        elif screen.state.only:
            screen.state.only = ""
            screen.show()
        else:
            screen.dismiss(None)

    def enlarge(self, name: RecordPanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.screen.update_footer()

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for."""
        self.screen.open_line("entries-filter", "filter", self.screen.entries.query_text, "entries")

    def _narrow(self, query: str) -> None:
        self.screen.entries.filter(query)
        self.screen.show()

    def next_status(self) -> None:
        """Keeps to the next status."""
        screen = self.screen
        only = screen.state.next_status()
        screen.show()
        if not screen.entries.display:
            screen.say(f"only {only}" if only else "every status")

    # The selection

    def item(self) -> RecordItem | None:
        """The selected entry."""
        return self.screen.entries.selected

    def line(self) -> CheckedLine | None:
        """The selected line, as it stands now; ``None`` where a fact or nothing is selected."""
        screen = self.screen
        view = screen.record.view
        if view is None or screen.panel_in_use != "record":
            return None
        return line_of(view, screen.record.line)

    def file(self) -> str:
        """The file behind the selection; empty where there is none, or it is gone."""
        line, item = self.line(), self.item()
        root = self.screen.bench.engine.workspace.root
        if line is not None:
            return file_of(root, line.path) if line.number else ""
        return file_of(root, item.entry.path) if item is not None else ""

    def edit(self) -> None:
        """Opens the line where it stands now, else the conversation."""
        line = self.line()
        self.edit_file(self.file(), line.number if line is not None else 0)
        self.screen.look()

    def copy_it(self) -> None:
        """Copies the selected line's text, else the entry's sha256."""
        line, item = self.line(), self.item()
        if line is not None:
            self.copy_text(line.line.text)
        elif item is not None:
            clipboard.copy(self.screen.bench.app, item.sha256)
            self.screen.say(f"copied {item.sha256}")

    # The ledger

    def rescan(self) -> None:
        """Looks at every file again."""
        super().rescan()
        self.screen.look()

    def verify(self) -> None:
        """Holds every entry against the files."""
        screen = self.screen
        if screen.work.verify():
            screen.state.verifying = 0
            screen.show()
        else:
            screen.say("the entries are being verified already")

    def restore(self) -> None:
        """Asks, saying where from; then brings the conversation back."""
        item = self.item()
        if item is None:
            return
        checked = self.screen.state.check_of(item.sha256)
        source = checked.checked.source if checked is not None and checked.checked is not None else ""
        where = {"in trash": "the trash", "in history": "the history"}.get(source, "the trash or the history")
        question = (
            f"{visible(item.entry.path, NAME)}\n"
            f"It comes back from {where}, byte for byte: its sha256 is {item.sha256[:12]}… again."
            " From then on it is yours: no harvest touches it."
        )
        self.ask(
            "restore the conversation", question, "Restore", lambda: self.screen.work.restore(item.sha256)
        )

    def rebuild(self) -> None:
        """Asks, then makes the ledger anew."""
        question = (
            "knowledge/ledger.json is made anew from all its versions in the history and what can be read of"
            " the present one. What stands in neither is not known afterwards; those conversations are"
            " harvested again."
        )
        self.ask("rebuild the ledger", question, "Rebuild", self.screen.work.rebuild)

    def harvest(self) -> None:
        """Opens the guided harvest."""
        self.screen.app.push_screen(HarvestScreen(self.screen.bench))

    def retry(self) -> None:
        """Opens it with what failed chosen."""
        self.screen.app.push_screen(HarvestScreen(self.screen.bench, self.screen.state.failed))
