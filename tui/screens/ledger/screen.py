"""The ledger screen's commands, one method each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tui.kit import clipboard
from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.lanes import Lane
from tui.render.figures import count, plural
from tui.render.safe import visible
from tui.screens.harvest.screen import HarvestScreen
from tui.screens.ledger.entries import RecordItem
from tui.screens.ledger.layout import LedgerLayout
from tui.screens.ledger.record import line_of
from tui.screens.ledger.state import Tally, verify_entries

if TYPE_CHECKING:
    from engine.knowledge.verify import CheckedLine
    from tui.kit.bench import Bench

NAME = 60
"""Characters of a path shown in a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSituation(Situation):
    failures: int = 0
    """Number of failed harvests."""
    kept_in: str = ""
    """Where the entry's conversation is; empty while unknown."""
    broken: bool = False
    """The ledger is damaged or missing."""
    record: str = ""
    """SHA-256 of the selected entry; empty if none."""


RESTORABLE: Need[LedgerSituation] = Need(
    lambda here: here.kept_in in ("", "in trash", "in history"),
    "the conversation is neither in the trash nor in the history",
)
AN_ENTRY: Need[LedgerSituation] = Need(lambda here: here.record, "no entry is selected")
A_LEDGER: Need[LedgerSituation] = Need(lambda here: not here.broken, "the ledger is damaged; R rebuilds it")
A_FILE: Need[LedgerSituation] = Need(lambda here: here.file, "the line or conversation no longer exists")


class LedgerScreen(LedgerLayout, panels=("entries", "record"), lines=("entries-filter",)):
    def __init__(self, bench: Bench, sha256: str = "") -> None:
        super().__init__(bench, sha256)
        self._verifies: Lane[None, Tally] = self.lane(
            lambda _none: self._verify(),
            lambda _none, tally: self._verified(tally),
            lambda _none, problem: self._verified(None, problem),
        )
        self._restores: Lane[str, str] = self.lane(
            lambda sha256: bench.engine.knowledge.reclaimer.restore(sha256),
            self._restored,
            lambda _sha256, problem: self._changed(problem, error=True),
            in_turn=True,
            finish=True,
        )
        self._rebuilds: Lane[None, tuple[int, int]] = self.lane(
            lambda _none: bench.engine.knowledge.ledger.rebuild(),
            lambda _none, counts: self._rebuilt(*counts),
            lambda _none, problem: self._changed(problem, error=True),
            finish=True,
        )

    @classmethod
    def over(cls, bench: Bench) -> Self:
        return cls(bench, bench.selected_sha256)

    # Navigation

    def back(self) -> None:
        """Go back one level: leave the prompt, clear filters, show all panels, return to the workbench."""
        if self.in_line:
            self.narrow("")
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif self.alone and self.panel_in_use == "record":
            self.focus_panel("entries")
        elif self.entries.query_text:
            self.narrow("")
        elif self.state.only:
            self.state.only = ""
            self.show()
        else:
            self.dismiss(None)

    @command("slash", title="Filter the entries", footer="filter", rank=16)
    def filter(self) -> None:
        """Filter the entries as you type, by name, path, error, sha256 or harvested line."""
        self.open_line("entries-filter", "filter", self.entries.query_text, "entries")

    @command("s", title="Filter by status", footer="status", rank=14)
    def next_status(self) -> None:
        """Show only the next status: harvested, harvest-failed, deleted-unharvested, too-large; then all."""
        only = self.state.next_status()
        self.show()
        if not self.entries.display:
            self.say(f"status: {only}" if only else "all statuses")

    # The selection

    def checked_line(self) -> CheckedLine | None:
        """The check of the selected line; ``None`` if no line is selected."""
        view = self.record.view
        if view is None or self.panel_in_use != "record":
            return None
        return line_of(view, self.record.line)

    def file(self) -> str:
        """The file behind the selection; empty if there is none or it no longer exists."""
        line, item = self.checked_line(), self.entries.selected
        root = self.bench.engine.workspace.root
        if line is not None:
            return file_of(root, line.path) if line.number else ""
        return file_of(root, item.entry.path) if item is not None else ""

    @command(
        "enter", "o",
        title="Open the line", panels=["record"], footer="open", rank=0,
        needs=[A_FILE],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the selected line at its current place in $VISUAL or $EDITOR."""
        line = self.checked_line()
        self.edit_file(self.file(), line.number if line is not None else 0)
        self.look()

    @command("e", title="Edit the line or conversation", footer="edit", rank=12, needs=[A_FILE])
    def edit_there(self) -> None:
        """Open the selected line, or else the conversation, in $VISUAL or $EDITOR."""
        self.edit()

    @command("y", title="Copy the line or sha256", footer="copy", rank=18, needs=[AN_ENTRY])
    def copy_it(self) -> None:
        """Copy the text of the selected line, or the entry's sha256 for autopoiesis ledger show."""
        line, item = self.checked_line(), self.entries.selected
        if line is not None:
            self.copy_text(line.line.text)
        elif item is not None:
            clipboard.copy(self.bench.app, item.sha256)
            self.say(f"copied {item.sha256}")

    # The ledger

    @command("v", title="Verify all entries", footer="verify", rank=8, needs=[A_LEDGER])
    def verify(self) -> None:
        """Check every entry against the files: lines, conversation, hashes. Changes nothing."""
        if self._verifies.busy:
            self.say("verification is already running")
            return
        self.state.verifying = 0
        self._verifies.ask(None)
        self.show()

    def _verify(self) -> Tally:
        """Verifies off the screen's thread; stops when the screen is closed."""

        def progress(done: int) -> None:
            self.state.verifying = done
            self.later(self.show)

        return verify_entries(self.bench.engine.knowledge, progress, lambda: self.listening)

    def _verified(self, tally: Tally | None, problem: str = "") -> None:
        self.state.take_tally(tally)
        self.show()
        if tally is None:
            self.say(problem, error=True)
        elif tally.lost or not self.entries.display:
            self.say(str(tally), error=bool(tally.lost))

    @command(
        "r",
        title="Restore the conversation", footer="restore", rank=4,
        needs=[
            AN_ENTRY, Need(lambda here: here.kept_in != "there", "the conversation is already in place"),
            RESTORABLE,
            WRITABLE,
        ],
    )  # fmt: skip
    def restore(self) -> None:
        """Restore the entry's conversation, byte for byte, from the trash or the history; asks first."""
        item = self.entries.selected
        if item is None:
            return
        places = {"in trash": "the trash", "in history": "the history"}
        where = places.get(self._kept_in(item), "the trash or the history")
        question = (
            f"{visible(item.entry.path, NAME)}\n"
            f"Restores it byte for byte from {where} (sha256 {item.sha256[:12]}…)."
            " Harvests will leave it alone from then on."
        )
        self.ask("restore the conversation", question, "Restore", lambda: self._restores.ask(item.sha256))

    def _restored(self, sha256: str, path: str) -> None:
        self._changed(f"restored {path}, sha256 {sha256[:12]}; harvests will leave it alone")

    def _changed(self, message: str, *, error: bool = False) -> None:
        self.say(message, error=error)
        self.look()

    def _kept_in(self, item: RecordItem) -> str:
        """Where an entry's conversation is; empty while unknown."""
        check = self.state.checks.get(item.sha256)
        return check.entry.source if check is not None and check.entry is not None else ""

    @command(
        "R",
        title="Rebuild the ledger", footer="rebuild", rank=1,
        needs=[Need(lambda here: here.broken, "the ledger is intact"), WRITABLE],
    )  # fmt: skip
    def rebuild(self) -> None:
        """Rebuild the ledger from the git history and what is still readable; asks first."""
        question = (
            "Rebuilds knowledge/ledger.json from its git history and from what is still readable of"
            " the current file. Conversations recorded in neither will be harvested again."
        )
        self.ask("rebuild the ledger", question, "Rebuild", lambda: self._rebuilds.ask(None))

    def _rebuilt(self, entries: int, from_history: int) -> None:
        total = plural(entries, "entry", "entries")
        self._changed(f"ledger rebuilt: {total}, {count(from_history)} from the history")

    @command("H", title="Harvest conversations", footer="harvest", rank=2, needs=[A_LEDGER])
    def harvest(self) -> None:
        """Harvest in steps: scan, choose, confirm. Nothing happens before you confirm."""
        self.app.push_screen(HarvestScreen(self.bench))

    @command(
        "f",
        title="Retry failed harvests", panels=["entries"], footer="retry failed", rank=6,
        needs=[A_LEDGER, Need(lambda here: here.failures, "no harvest has failed")],
    )  # fmt: skip
    def retry(self) -> None:
        """Open the harvest with the failed conversations preselected."""
        self.app.push_screen(HarvestScreen(self.bench, self.state.failed))

    # Panels

    focus_entries = goes_to("entries", "1", "the entries", ", newest first", rank=24)
    focus_record = goes_to(
        "record", "2", "the selected entry", ", with the current place of each of its lines",
        rank=24,
    )  # fmt: skip

    @command(
        "enter", "o",
        title="Read the entry", panels=["entries"], footer="read", rank=0,
        needs=[AN_ENTRY],
    )  # fmt: skip
    def read(self) -> None:
        """Read the selected entry, on small screens over the whole area."""
        self.go_to("record")

    # State

    @property
    def situation(self) -> LedgerSituation:
        item = self.entries.selected
        return self.situated(
            LedgerSituation,
            filtered=bool(self.entries.query_text or self.state.only),
            file=self.file(),
            record=item.sha256 if item is not None else "",
            kept_in=self._kept_in(item) if item is not None else "",
            broken=self.state.broken,
            failures=len(self.state.failed),
        )
