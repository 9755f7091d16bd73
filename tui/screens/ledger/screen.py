"""The ledger screen: what happened to every conversation, and whether it still holds (design 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from textual.app import ComposeResult
from textual.containers import Container

from engine.errors import LedgerBroken
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.full_screen import ListDetail
from tui.kit.lanes import Lane
from tui.kit.messages import ALL_PARTS
from tui.render.draw import Row
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import visible
from tui.screens.harvest.screen import HarvestScreen
from tui.screens.ledger.draw import (
    Check,
    EntriesPanel,
    RecordItem,
    RecordPage,
    RecordView,
    draw_none,
    line_of,
    newest_first,
)

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedEntry, CheckedLine
    from tui.kit.bench import Bench

STEP = 25
"""Entries between progress reports of a verification."""
BROAD = 150
"""Minimum columns for the entry next to the list."""
NAME = 60
"""Characters of a path shown in a question."""


@dataclass(frozen=True, slots=True)
class Entries:
    found: Mapping[str, LedgerEntry] | None = None
    """The entries by sha256; ``None`` if they could not be read."""
    problem: str = ""
    broken: bool = False
    """The ledger is damaged or missing and can be rebuilt."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of verifying all entries."""

    entries: int
    there: int
    edited: int
    gone: int
    lost: frozenset[str]
    """SHA-256 of the entries whose conversation was not found anywhere."""

    @classmethod
    def of(cls, checked: Sequence[CheckedEntry]) -> Tally:
        states = [line.state for each in checked for line in each.lines]
        return cls(
            len(checked),
            states.count("there"),
            states.count("edited"),
            states.count("gone"),
            frozenset(each.sha256 for each in checked if not each.sound),
        )

    def __str__(self) -> str:
        lines = f"lines: {count(self.there)} there, {count(self.edited)} edited, {count(self.gone)} gone"
        return f"{plural(self.entries, 'entry', 'entries')} verified, {count(len(self.lost))} lost · {lines}"


def read_entries(knowledge: Knowledge) -> Entries:
    """Reads the ledger; a damaged one is a result, not an error, as it can be rebuilt."""
    try:
        return Entries(knowledge.ledger.entries())
    except LedgerBroken as error:
        return Entries(problem=str(error), broken=True)


def check_entry(knowledge: Knowledge, sha256: str) -> Check:
    """Checks an entry against the files and the review queue."""
    checked = knowledge.check(sha256)
    held, waiting = set(checked.entry.held), 0
    if held:
        waiting = sum(each.id in held for each in knowledge.review.queue.waiting())
    return Check(checked, waiting)


def verify_entries(
    knowledge: Knowledge, progress: Callable[[int], None], wanted: Callable[[], bool]
) -> Tally:
    """Checks all entries against the files.

    Args:
        progress: Called every ``STEP`` entries with the number done.
        wanted: Returns whether to continue after the current entry.
    """
    found: list[CheckedEntry] = []
    for each in knowledge.verify():
        found.append(each)
        if not len(found) % STEP:
            progress(len(found))
        if not wanted():
            break
    return Tally.of(found)


Phase = Literal["loading", "error", "found"]


class LedgerState:
    def __init__(self) -> None:
        self.phase: Phase = "loading"
        self.problem = ""
        self.broken = False
        self.only = ""
        self.tally: Tally | None = None
        self.verifying: int | None = None
        """Number of entries verified so far; ``None`` if no verification is running."""
        self.checks: dict[str, Check] = {}
        """The check of the entry shown last, by sha256."""
        self._found: Mapping[str, LedgerEntry] = {}
        self._items: list[RecordItem] = []

    @property
    def items(self) -> list[RecordItem]:
        return [each for each in self._items if not self.only or each.entry.status == self.only]

    @property
    def total(self) -> int:
        return len(self._items)

    @property
    def failed(self) -> frozenset[str]:
        """SHA-256 of the entries whose harvest failed."""
        return frozenset(name for name, entry in self._found.items() if entry.status == "harvest-failed")

    @property
    def result(self) -> str:
        """Progress or result of a verification; empty if there was none."""
        if self.verifying is not None:
            return f"verifying {count(self.verifying)} of {count(self.total)} …"
        return str(self.tally) if self.tally is not None else ""

    def take(self, read: Entries) -> None:
        self.problem, self.broken = read.problem, read.broken
        self.phase = "found" if read.found is not None else "error"
        found = read.found or {}
        if found != self._found:
            self.tally = None  # it covers other entries
        self._found = found
        self._sort()

    def take_tally(self, tally: Tally | None) -> None:
        """Stores the result of a verification; ``None`` if it failed."""
        self.verifying, self.tally = None, tally
        self._sort()

    def next_status(self) -> str:
        """Filters by the next status; empty for all."""
        from engine.knowledge.ledger import STATUSES  # noqa: PLC0415 — loaded with the ledger

        steps = ("", *STATUSES)
        self.only = steps[(steps.index(self.only) + 1) % len(steps)]
        return self.only

    def _sort(self) -> None:
        self._items = newest_first(self._found, self.tally.lost if self.tally is not None else frozenset())


RESTORABLE = Need(
    lambda here: here.kept_in in ("", "in trash", "in history"),
    "the conversation is neither in the trash nor in the history",
)
AN_ENTRY = Need(lambda here: here.entries.selected, "no entry is selected")
A_LEDGER = Need(lambda here: not here.state.broken, "the ledger is damaged; R rebuilds it")
A_FILE = Need(lambda here: here.file, "the line or conversation no longer exists")


class LedgerScreen(ListDetail, panels=("entries", "record"), lines=("entries-filter",)):
    """Shows the ledger.

    Args:
        sha256: The entry to select first; the newest by default.
    """

    area = "records"
    news = ALL_PARTS
    broad = BROAD
    burst_s = 0.5  # a harvest writes several files for each conversation

    def __init__(self, bench: Bench, sha256: str = "") -> None:
        super().__init__(bench)
        self.state = LedgerState()
        engine = bench.engine
        self._reads = self.plain_lane(
            lambda: read_entries(engine.knowledge),
            self._take,
            lambda problem: self._take(Entries(problem=problem)),
        )
        self._checks: Lane[str, Check] = self.lane(
            lambda sha256: check_entry(engine.knowledge, sha256),
            self._take_check,
            lambda sha256, problem: self._take_check(sha256, Check(problem=problem)),
        )
        self._begin_with = sha256
        self._checking = ""
        self._verifies = self.plain_lane(
            self._verify, self._verified, lambda problem: self._verified(None, problem)
        )
        self._restores: Lane[str, str] = self.lane(
            lambda sha256: bench.engine.knowledge.reclaimer.restore(sha256),
            self._restored,
            lambda _sha256, problem: self._changed(problem, error=True),
            in_turn=True,
            finish=True,
        )
        self._rebuilds = self.plain_lane(
            lambda: bench.engine.knowledge.ledger.rebuild(),
            lambda counts: self._rebuilt(*counts),
            partial(self._changed, error=True),
            finish=True,
        )

    def body(self) -> ComposeResult:
        self.entries = EntriesPanel(id="entries")
        self.record = RecordPage(id="record")
        yield Container(self.entries, self.record, id="records")

    def on_screen_resume(self) -> None:
        """Reads the ledger again, as the harvest screen may have changed it."""
        if self.listening:
            self.look()

    def look(self) -> None:
        self._checking = ""
        self._reads.ask(None)

    # Display

    def show(self) -> None:
        state = self.state
        about = (state.phase, state.problem, state.only, self.entries.query_text)
        entries = self.entries
        entries.only, entries.total, entries.below = state.only, state.total, state.result
        entries.show_items(state.items, self._note, about)
        if self._begin_with and state.phase == "found":
            self.entries.select_key(self._begin_with)
            self._begin_with = ""
        self.show_selected()

    def show_selected(self) -> None:
        """Shows the selected entry and checks it against the files."""
        item = self.entries.selected
        if item is None:
            self.record.show_view(None)
        else:
            check = self.state.checks.get(item.sha256, Check())
            self.record.show_view(RecordView(item, check, self.bench.key_of("open_review")))
            if self._checking != item.sha256:
                self._checking = item.sha256
                self._checks.ask(item.sha256)
        self.update_footer()

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
        self.show_selected()

    @classmethod
    def over(cls, bench: Bench) -> Self:
        return cls(bench, bench.selected_sha256)

    # Navigation

    def step_back(self) -> bool:
        """Shows entries of every status again."""
        only, self.state.only = self.state.only, ""
        self.show()
        return bool(only)

    @command("slash", "Filter the entries", "filter", 16)
    def filter(self) -> None:
        """Filter the entries as you type, by name, path, error, sha256 or harvested line."""
        self.open_line("entries-filter", "filter", self.entries.query_text, "entries")

    @command("s", "Filter by status", "status", 14)
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

    @property
    def file(self) -> str:
        """The file behind the selection; empty if there is none or it no longer exists."""
        line, item = self.checked_line(), self.entries.selected
        if line is not None:
            return self.existing(line.path) if line.number else ""
        return self.existing(item.entry.path) if item is not None else ""

    @command("enter o", "Open the line", "open", 0, panels=["record"], needs=[A_FILE])
    def edit(self) -> None:
        """Open the selected line at its current place in $VISUAL or $EDITOR."""
        line = self.checked_line()
        self.edit_file(self.file, line.number if line is not None else 0)
        self.look()

    @command("e", "Edit the line or conversation", "edit", 12, needs=[A_FILE])
    def edit_there(self) -> None:
        """Open the selected line, or else the conversation, in $VISUAL or $EDITOR."""
        self.edit()

    @command("y", "Copy the line or sha256", "copy", 18, needs=[AN_ENTRY])
    def copy_it(self) -> None:
        """Copy the text of the selected line, or the entry's sha256 for autopoiesis ledger show."""
        line, item = self.checked_line(), self.entries.selected
        if line is not None:
            self.copy_text(line.line.text)
        elif item is not None:
            self.copy_name(item.sha256)

    # The ledger

    @command("v", "Verify all entries", "verify", 8, needs=[A_LEDGER])
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

    @command("r", "Restore the conversation", "restore", 4,
             needs=[AN_ENTRY,
                    Need(lambda here: here.kept_in != "there", "the conversation is already in place"),
                    RESTORABLE, WRITABLE])  # fmt: skip
    def restore(self) -> None:
        """Restore the entry's conversation, byte for byte, from the trash or the history; asks first."""
        item = self.entries.selected
        if item is None:
            return
        places = {"in trash": "the trash", "in history": "the history"}
        where = places.get(self.kept_in, "the trash or the history")
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

    @property
    def kept_in(self) -> str:
        """Where the selected entry's conversation is; empty while unknown."""
        item = self.entries.selected
        check = self.state.checks.get(item.sha256) if item is not None else None
        return check.entry.source if check is not None and check.entry is not None else ""

    @command("R", "Rebuild the ledger", "rebuild", 1,
             needs=[Need(lambda here: here.state.broken, "the ledger is intact"), WRITABLE])  # fmt: skip
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

    @command("H", "Harvest conversations", "harvest", 2, needs=[A_LEDGER])
    def harvest(self) -> None:
        """Harvest in steps: scan, choose, confirm. Nothing happens before you confirm."""
        self.app.push_screen(HarvestScreen(self.bench))

    @command("f", "Retry failed harvests", "retry failed", 6, panels=["entries"],
             needs=[A_LEDGER, Need(lambda here: here.state.failed, "no harvest has failed")])  # fmt: skip
    def retry(self) -> None:
        """Open the harvest with the failed conversations preselected."""
        self.app.push_screen(HarvestScreen(self.bench, self.state.failed))

    # Panels

    focus_entries = goes_to("entries", "1", "the entries", ", newest first")
    focus_record = goes_to("record", "2", "the selected entry",
                           ", with the current place of each of its lines")  # fmt: skip

    @command("enter o", "Read the entry", "read", 0, panels=["entries"], needs=[AN_ENTRY])
    def read(self) -> None:
        """Read the selected entry, on small screens over the whole area."""
        self.go_to("record")

    # State
