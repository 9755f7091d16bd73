"""What the harvest screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.kit.actions import ROWS, WRITABLE, ScreenActions
from tui.kit.command import Need, Situation, command
from tui.screens.harvest.figures import Step
from tui.screens.harvest.run import HarvestRun

if TYPE_CHECKING:
    from tui.screens.harvest.screen import HarvestScreen


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


class HarvestActions(
    ScreenActions,
    panels=("survey", "pick", "switches", "progress", "outcome"),
    lines=("survey-filter", "number"),
):
    """The actions of one harvest screen."""

    screen: HarvestScreen

    # Moving about

    def stops(self) -> tuple[str, ...]:
        """The step's panels, in view or not: where only one has room, tab brings the other."""
        screen = self.screen
        return screen.of_step() if screen.zoomed is None else screen.in_view()

    def to_step(self, step: Step) -> None:
        """Goes to another step."""
        screen = self.screen
        screen.state.step = step
        screen.zoomed = None
        screen.enter_step()

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
        screen, state = self.screen, self.screen.state
        if screen.in_line:
            if screen.line == "survey-filter":
                screen.narrow("")
            screen.leave_line()
        elif screen.zoomed is not None:
            self.unzoom()
        elif state.running:
            self.stop()
        elif screen.words:
            screen.narrow("")
        elif state.step == "confirm":
            self.to_step("pick")
        elif state.step == "pick":
            self.to_step("survey")
        else:
            self.quit()

    def enlarge(self, name: str | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.screen.update_footer()

    def quit(self) -> None:
        """Quit the harvest; one that is under way goes on."""
        screen = self.screen
        if screen.in_line:
            screen.leave_line()
        if screen.state.running:
            screen.say("the harvest goes on; H looks at it again")
        screen.dismiss(None)

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
        self.screen.open_line("survey-filter", "filter", self.screen.words, "conversations")

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
        screen = self.screen
        item = screen.pick.selected
        if item is not None:
            screen.state.toggle(item.candidate)
            screen.pick.select(screen.pick.cursor + 1)
            screen.show()

    @command("a", title="Choose all, or none", panels=["pick", "switches"], footer="all", rank=4)
    def toggle_all(self) -> None:
        """Choose all that can be chosen; when all are, none."""
        self.screen.state.toggle_all()
        self.screen.show()

    @command("space", title="Switch the option", panels=["switches"], footer="switch", rank=2, needs=[ROWS])
    def switch(self) -> None:
        """Switch the selected option on or off."""
        item = self.screen.switches.selected
        if item is not None:
            self.screen.state.switch(item.name)
            self.screen.show()

    # Harvesting

    @command(
        "enter",
        title="Start the harvest", panels=["progress"], footer="start", rank=0,
        needs=[STILL, CHOSEN, WRITABLE],
    )  # fmt: skip
    def start(self) -> None:
        """Start. Conversations are sent to the provider that is named, one after the other."""
        screen, state = self.screen, self.screen.state
        if screen.under_way() is not None:
            screen.say("another harvest is under way")
        elif state.run is None:
            self._run(HarvestRun(state.wish, state.chosen, screen.bench.clock.monotonic()))

    def _run(self, run: HarvestRun) -> None:
        screen = self.screen
        screen.state.run = screen.bench.actions.harvesting = run
        screen.follow(run)
        screen.work.run(run)
        self.to_step("confirm")

    @command("x", title="Stop the harvest", panels=["progress"], footer="stop", rank=2, needs=[UNDER_WAY])
    def stop(self) -> None:
        """Stop after the conversation that is under way; what was harvested stays."""
        screen = self.screen
        run = screen.state.run
        if run is not None and not run.progress.stopping:
            screen.work.halt(run)
            screen.show()
            screen.say("it stops after the conversation that is under way")

    @command(
        "m",
        title="Move them to the trash, by their number", panels=["outcome"], footer="type the number", rank=0,
        needs=[Need(lambda here: here.brake, "no number is asked for"), WRITABLE],
    )  # fmt: skip
    def ask_number(self) -> None:
        """Type how many conversations go to the trash, where so many would that their number is asked for."""
        progress = self.screen.state.progress
        if progress is not None and progress.brake:
            about = f"{progress.brake} to move them to the trash"
            self.screen.open_line("number", "number", about=about)

    def typed(self, text: str) -> None:
        """Takes the number; only exactly the right one moves anything."""
        screen = self.screen
        run = screen.state.by_number(screen.bench.clock.monotonic())
        screen.leave_line()
        if run is None:
            return
        number = run.wish.consent.number
        if text.strip() == str(number):
            self._run(run)
        else:
            screen.say(f"nothing is moved: {text.strip() or 'nothing'} is not {number}")

    @command(
        "f",
        title="Try again what failed", panels=["outcome"], footer="retry failed", rank=2,
        needs=[Need(lambda here: here.failures, "nothing failed")],
    )  # fmt: skip
    def retry(self) -> None:
        """Look again and choose what failed in this harvest."""
        screen = self.screen
        screen.state.anew(screen.state.failures)
        self._look()

    @command("H", title="Look at the conversations again", needs=[STILL])
    def again(self) -> None:
        """Begin anew with another look at the conversations."""
        self.screen.state.anew()
        self._look()

    def rescan(self) -> None:
        """Look at every file again."""
        super().rescan()
        if self.screen.state.step in ("survey", "pick"):
            self.screen.work.look()

    def _look(self) -> None:
        screen = self.screen
        if screen.under_way() is None:
            screen.bench.actions.harvesting = None  # a number that was not typed is not asked for any more
        screen.work.look()
        self.to_step("survey")

    # Panels

    @command("1", title="Go to the conversations", panels=["pick", "switches"], footer="panel", rank=24)
    def focus_pick(self) -> None:
        """Go to the conversations."""
        self.go_to("pick")

    @command("2", title="Go to the options", panels=["pick", "switches"], footer="panel", rank=24)
    def focus_switches(self) -> None:
        """Go to the options."""
        self.go_to("switches")

    @command("Y", title="Copy the text", needs=[ROWS])
    def copy(self) -> None:
        """Copy what the panel shows: of lists the selected row, else the whole text (OSC 52)."""
        super().copy()
