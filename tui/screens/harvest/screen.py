"""The harvest screen's commands, one method each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from tui.kit.command import Need, Situation, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.screens.harvest.layout import HarvestLayout
from tui.screens.harvest.run import HarvestRun
from tui.screens.harvest.state import Step

if TYPE_CHECKING:
    from tui.kit.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSituation(Situation):
    selectable: bool = False
    """The selected conversation can be harvested or reclaimed."""
    brake: int = 0
    """The number the user must type before that many conversations go to the trash; 0 for none."""
    failures: int = 0
    chosen: int = 0
    """How many conversations a harvest would read."""
    harvesting: bool = False


CHOSEN: Need[HarvestSituation] = Need(lambda here: here.chosen, "no conversations to harvest are selected")
NOT_RUNNING: Need[HarvestSituation] = Need(
    lambda here: not here.harvesting, "a harvest is running; x stops it, b leaves it running"
)
RUNNING: Need[HarvestSituation] = Need(lambda here: here.harvesting, "no harvest is running")


class HarvestScreen(
    HarvestLayout,
    panels=("survey", "pick", "switches", "progress", "outcome"),
    lines=("survey-filter", "number"),
):
    def __init__(self, bench: Bench, failed: frozenset[str] = frozenset()) -> None:
        super().__init__(bench, failed)
        self._runs: Lane[HarvestRun, None] = self.lane(
            lambda run: run.carry_out(bench.engine), lambda _run, _none: None, finish=True
        )
        self._stops: Lane[None, None] = self.lane(
            lambda _none: bench.engine.knowledge.harvest.stop(), lambda _none, _done: None, finish=True
        )

    # Navigation

    def to_step(self, step: Step) -> None:
        self.state.step = step
        self.zoomed = None
        self.enter_step()

    @command(
        "enter",
        title="Continue: choose conversations", panels=["survey"], footer="choose", rank=0,
        needs=[Need(lambda here: here.rows, "there are no conversations")],
    )  # fmt: skip
    def to_pick(self) -> None:
        """Continue, and choose what to harvest."""
        self.to_step("pick")

    @command(
        "enter",
        title="Continue: preview", panels=["pick", "switches"], footer="continue", rank=0,
        needs=[CHOSEN],
    )  # fmt: skip
    def to_confirm(self) -> None:
        """Continue, and preview the harvest and its cost; nothing happens yet."""
        self.to_step("confirm")

    def back(self) -> None:
        """Go back one step, or from the first to the ledger; while a harvest runs, stop it after this one."""
        state = self.state
        if self.in_line:
            if self.line == "survey-filter":
                self.narrow("")
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif state.running:
            self.stop()
        elif self.words:
            self.narrow("")
        elif state.step == "confirm":
            self.to_step("pick")
        elif state.step == "pick":
            self.to_step("survey")
        else:
            self.quit()

    def quit(self) -> None:
        """Close the harvest screen; a running harvest continues."""
        if self.in_line:
            self.leave_line()
        if self.state.running:
            self.say("the harvest continues in the background; H shows it again")
        self.dismiss(None)

    @command(
        "b",
        title="Leave the harvest running", panels=["progress"], footer="leave it running", rank=4,
        needs=[RUNNING],
    )  # fmt: skip
    def background(self) -> None:
        """Leave the harvest running and return to the ledger; a notification says when it is done."""
        self.quit()

    @command("slash", title="Filter the conversations", panels=["survey", "pick"], footer="filter", rank=10)
    def filter(self) -> None:
        """Filter the conversations as you type, by path, kind or reason."""
        self.open_line("survey-filter", "filter", self.words, "conversations")

    # Choosing

    @command(
        "space",
        title="Select or deselect the conversation", panels=["pick"], footer="select", rank=2,
        needs=[
            Need(lambda here: here.selectable, "this conversation is skipped, for the reason shown"),
        ],
    )  # fmt: skip
    def toggle(self) -> None:
        """Select or deselect the conversation for harvesting."""
        item = self.pick.selected
        if item is not None:
            self.state.toggle(item.candidate)
            self.pick.select(self.pick.cursor + 1)
            self.show()

    @command("a", title="Select all or none", panels=["pick", "switches"], footer="all", rank=4)
    def toggle_all(self) -> None:
        """Select all conversations; if all are selected, deselect them."""
        self.state.toggle_all()
        self.show()

    @command("space", title="Toggle the option", panels=["switches"], footer="toggle", rank=2, needs=[ROWS])
    def switch(self) -> None:
        """Turn the selected option on or off."""
        item = self.switches.selected
        if item is not None:
            self.state.switch(item.name)
            self.show()

    # Harvesting

    @command(
        "enter",
        title="Start the harvest", panels=["progress"], footer="start", rank=0,
        needs=[NOT_RUNNING, CHOSEN, WRITABLE],
    )  # fmt: skip
    def start(self) -> None:
        """Start the harvest. Conversations are sent to the provider shown above, one at a time."""
        state = self.state
        if self._other_run() is not None:
            self.say("another harvest is running")
        elif state.run is None:
            self._run(HarvestRun(state.request, state.chosen, self.bench.clock.monotonic()))

    def _run(self, run: HarvestRun) -> None:
        self.state.run = self.bench.harvesting = run
        self._follow(run)
        self._runs.ask(run)
        self.to_step("confirm")

    @command("x", title="Stop the harvest", panels=["progress"], footer="stop", rank=2, needs=[RUNNING])
    def stop(self) -> None:
        """Stop after the current conversation; what is harvested so far is kept."""
        run = self.state.run
        if run is not None and not run.progress.stopping:
            run.stop()
            self._stops.ask(None)
            self.show()
            self.say("stopping after the current conversation")

    @command(
        "m",
        title="Confirm the move to the trash", panels=["outcome"], footer="confirm", rank=0,
        needs=[Need(lambda here: here.brake, "there is nothing to confirm"), WRITABLE],
    )  # fmt: skip
    def ask_number(self) -> None:
        """Confirm moving many conversations to the trash by typing how many there are."""
        progress = self.state.progress
        if progress is not None and progress.brake:
            about = f"{progress.brake} to move them to the trash"
            self.open_line("number", "number", about=about)

    def typed(self, text: str) -> None:
        """Moves the conversations only if exactly the right number was typed."""
        run = self.state.confirmed_run(self.bench.clock.monotonic())
        self.leave_line()
        if run is None:
            return
        number = run.request.consent.number
        if text.strip() == str(number):
            self._run(run)
        else:
            self.say(f"nothing was moved: expected {number}, got {text.strip() or 'nothing'}")

    @command(
        "f",
        title="Retry failed conversations", panels=["outcome"], footer="retry failed", rank=2,
        needs=[Need(lambda here: here.failures, "no harvest failed")],
    )  # fmt: skip
    def retry(self) -> None:
        """Rescan, and select the conversations that failed in this harvest."""
        self._start_over(self.state.failures)

    @command("H", title="Start over", needs=[NOT_RUNNING])
    def again(self) -> None:
        """Start over with a new scan of the conversations."""
        self._start_over()

    def _start_over(self, failed: frozenset[str] = frozenset()) -> None:
        self.state.restart(failed)
        if self._other_run() is None:
            self.bench.harvesting = None  # drops a pending confirmation
        self.look()
        self.to_step("survey")

    # Panels

    focus_pick = goes_to("pick", "1", "the conversations", panels=["pick", "switches"], rank=24)
    focus_switches = goes_to("switches", "2", "the options", panels=["pick", "switches"], rank=24)

    # State and events

    def begin(self) -> None:
        """Scans the conversations, or shows the harvest that is running or needs confirmation."""
        run = self.bench.harvesting
        if run is None or (run.progress.ended and not run.progress.brake):
            self.look()
            return
        self.state.run = run
        self._follow(run)
        self.to_step("result" if run.progress.ended else "confirm")

    def end(self) -> None:
        """Hands a running harvest over to the workbench, which reports when it is done."""
        if self.state.run is not None:
            self.state.run.follow(None, self.bench.post_message)
        self.tick_while(False)

    def _follow(self, run: HarvestRun) -> None:
        run.follow(partial(self.later, self._progressed), self.bench.post_message)

    def _other_run(self) -> HarvestRun | None:
        """An unfinished run started from another screen."""
        run = self.bench.harvesting
        return run if run is not None and run is not self.state.run and not run.progress.ended else None

    @property
    def waiting(self) -> bool:
        return super().waiting or self.state.running

    @property
    def situation(self) -> HarvestSituation:
        state, progress = self.state, self.state.progress
        item = self.pick.selected
        return self.situated(
            HarvestSituation,
            filtered=bool(self.words),
            selectable=item is not None and item.selectable,
            chosen=len(state.chosen) if state.run is None else 0,
            harvesting=state.running,
            failures=len(state.failures),
            brake=progress.brake if progress is not None and progress.ended else 0,
        )

    def _progressed(self) -> None:
        progress = self.state.progress
        if progress is None or self.state.step == "result":
            return
        if not progress.ended:
            self.show()
            return
        self.bench.conductor.rescan(quietly=True)
        self.to_step("result")
        if progress.brake:
            self.ask_number()

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        if entered.mode == "number":
            self.typed(entered.value)
        else:
            self.leave_line()
