"""The harvest screen: what can be done there, one method for each command."""

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
    """What the commands of this screen depend on."""

    selectable: bool = False
    """The selected conversation can be harvested or reclaimed."""
    brake: int = 0
    """How many conversations go to the trash only if a person types their number."""
    failures: int = 0
    """How many harvests failed."""
    chosen: int = 0
    """How many conversations a harvest would look at."""
    harvesting: bool = False
    """A harvest is under way."""


CHOSEN: Need[HarvestSituation] = Need(
    lambda here: here.chosen, "nothing is chosen that a harvest would look at"
)
STILL: Need[HarvestSituation] = Need(
    lambda here: not here.harvesting, "the harvest is under way; x stops it, b leaves it running"
)
UNDER_WAY: Need[HarvestSituation] = Need(lambda here: here.harvesting, "no harvest is under way")


class HarvestScreen(
    HarvestLayout,
    panels=("survey", "pick", "switches", "progress", "outcome"),
    lines=("survey-filter", "number"),
):
    """The harvest screen, with its commands."""

    def __init__(self, bench: Bench, failed: frozenset[str] = frozenset()) -> None:
        super().__init__(bench, failed)
        self._runs: Lane[HarvestRun, None] = self.lane(
            lambda run: run.carry_out(bench.engine), lambda _run, _none: None, finish=True
        )
        self._stops: Lane[None, None] = self.lane(
            lambda _none: bench.engine.knowledge.harvest.stop(), lambda _none, _done: None, finish=True
        )

    # Moving about

    def to_step(self, step: Step) -> None:
        """Goes to another step."""
        self.state.step = step
        self.zoomed = None
        self.enter_step()

    @command(
        "enter",
        title="Go on: choose", panels=["survey"], footer="choose", rank=0,
        needs=[Need(lambda here: here.rows, "there is no conversation")],
    )  # fmt: skip
    def to_pick(self) -> None:
        """Go on and choose what is harvested."""
        self.to_step("pick")

    @command(
        "enter",
        title="Go on: see what would happen", panels=["pick", "switches"], footer="go on", rank=0,
        needs=[CHOSEN],
    )  # fmt: skip
    def to_confirm(self) -> None:
        """Go on and see what would happen at what price; nothing happens yet."""
        self.to_step("confirm")

    def back(self) -> None:
        """Back one step, in the end to the ledger; while a harvest is under way, stop it after this one."""
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
        """Quit the harvest; one that is under way goes on."""
        if self.in_line:
            self.leave_line()
        if self.state.running:
            self.say("the harvest goes on; H looks at it again")
        self.dismiss(None)

    @command(
        "b",
        title="Leave the harvest running", panels=["progress"], footer="leave it running", rank=4,
        needs=[UNDER_WAY],
    )  # fmt: skip
    def background(self) -> None:
        """Leave the harvest running and return to the ledger; the workbench says when it is done."""
        self.quit()

    @command("slash", title="Filter the conversations", panels=["survey", "pick"], footer="filter", rank=10)
    def filter(self) -> None:
        """Narrow the conversations to those that hold what is typed: path, kind or reason."""
        self.open_line("survey-filter", "filter", self.words, "conversations")

    # Choosing

    @command(
        "space",
        title="Choose the conversation, or not", panels=["pick"], footer="choose", rank=2,
        needs=[
            Need(lambda here: here.selectable, "this one is left alone, for the reason that stands there"),
        ],
    )  # fmt: skip
    def toggle(self) -> None:
        """Choose the selected conversation, or leave it out."""
        item = self.pick.selected
        if item is not None:
            self.state.toggle(item.candidate)
            self.pick.select(self.pick.cursor + 1)
            self.show()

    @command("a", title="Choose all, or none", panels=["pick", "switches"], footer="all", rank=4)
    def toggle_all(self) -> None:
        """Choose all that can be chosen; when all are, none."""
        self.state.toggle_all()
        self.show()

    @command("space", title="Switch the option", panels=["switches"], footer="switch", rank=2, needs=[ROWS])
    def switch(self) -> None:
        """Switch the selected option on or off."""
        item = self.switches.selected
        if item is not None:
            self.state.switch(item.name)
            self.show()

    # Harvesting

    @command(
        "enter",
        title="Start the harvest", panels=["progress"], footer="start", rank=0,
        needs=[STILL, CHOSEN, WRITABLE],
    )  # fmt: skip
    def start(self) -> None:
        """Start. Conversations are sent to the provider that is named, one after the other."""
        state = self.state
        if self._other_run() is not None:
            self.say("another harvest is under way")
        elif state.run is None:
            self._run(HarvestRun(state.wish, state.chosen, self.bench.clock.monotonic()))

    def _run(self, run: HarvestRun) -> None:
        self.state.run = self.bench.harvesting = run
        self._follow(run)
        self._runs.ask(run)
        self.to_step("confirm")

    @command("x", title="Stop the harvest", panels=["progress"], footer="stop", rank=2, needs=[UNDER_WAY])
    def stop(self) -> None:
        """Stop after the conversation that is under way; what was harvested stays."""
        run = self.state.run
        if run is not None and not run.progress.stopping:
            run.stop()
            self._stops.ask(None)
            self.show()
            self.say("it stops after the conversation that is under way")

    @command(
        "m",
        title="Move them to the trash, by their number", panels=["outcome"], footer="type the number", rank=0,
        needs=[Need(lambda here: here.brake, "no number is asked for"), WRITABLE],
    )  # fmt: skip
    def ask_number(self) -> None:
        """Type how many conversations go to the trash, where so many would that their number is asked for."""
        progress = self.state.progress
        if progress is not None and progress.brake:
            about = f"{progress.brake} to move them to the trash"
            self.open_line("number", "number", about=about)

    def typed(self, text: str) -> None:
        """Takes the number; only exactly the right one moves anything."""
        run = self.state.by_number(self.bench.clock.monotonic())
        self.leave_line()
        if run is None:
            return
        number = run.wish.consent.number
        if text.strip() == str(number):
            self._run(run)
        else:
            self.say(f"nothing is moved: {text.strip() or 'nothing'} is not {number}")

    @command(
        "f",
        title="Try again what failed", panels=["outcome"], footer="retry failed", rank=2,
        needs=[Need(lambda here: here.failures, "nothing failed")],
    )  # fmt: skip
    def retry(self) -> None:
        """Look again and choose what failed in this harvest."""
        self._start_over(self.state.failures)

    @command("H", title="Look at the conversations again", needs=[STILL])
    def again(self) -> None:
        """Begin anew with another look at the conversations."""
        self._start_over()

    def rescan(self) -> None:
        """Look at every file again."""
        super().rescan()
        if self.state.step in ("survey", "pick"):
            self.look()

    def _start_over(self, failed: frozenset[str] = frozenset()) -> None:
        self.state.anew(failed)
        if self._other_run() is None:
            self.bench.harvesting = None  # a number that was not typed is not asked for any more
        self.look()
        self.to_step("survey")

    # Panels

    focus_pick = goes_to("pick", "1", "the conversations", panels=["pick", "switches"], rank=24)
    focus_switches = goes_to("switches", "2", "the options", panels=["pick", "switches"], rank=24)

    # What the keys depend on, and what comes in

    def begin(self) -> None:
        """Looks at the conversations, or goes to the harvest that is under way or waits for a number."""
        run = self.bench.harvesting
        if run is None or (run.progress.ended and not run.progress.brake):
            self.look()
            return
        self.state.run = run
        self._follow(run)
        self.to_step("result" if run.progress.ended else "confirm")

    def end(self) -> None:
        """What is under way goes on; the workbench says when it is done."""
        if self.state.run is not None:
            self.state.run.follow(None, self.bench.post_message)
        self.tick_while(False)

    def _follow(self, run: HarvestRun) -> None:
        run.follow(partial(self.later, self._grew), self.bench.post_message)

    def _other_run(self) -> HarvestRun | None:
        """A run that was begun on another screen and is not done."""
        run = self.bench.harvesting
        return run if run is not None and run is not self.state.run and not run.progress.ended else None

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
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

    def _grew(self) -> None:
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
