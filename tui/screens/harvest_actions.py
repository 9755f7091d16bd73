"""What the harvest screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.commands import common, harvest
from tui.commands.command import HarvestPanel
from tui.render.harvest_figures import Step
from tui.screens.harvest_run import HarvestRun
from tui.screens.screen_actions import ScreenActions

if TYPE_CHECKING:
    from tui.screens.harvest import HarvestScreen


class HarvestActions(ScreenActions[HarvestPanel]):
    """The actions of one harvest screen."""

    screen: HarvestScreen

    def __init__(self, screen: HarvestScreen) -> None:
        super().__init__(screen)
        self.doing |= {
            common.Quit: self.leave,
            harvest.Leave: self.back,
            harvest.ToPick: partial(self.to_step, "pick"),
            harvest.ToConfirm: partial(self.to_step, "confirm"),
            harvest.Toggle: self.toggle,
            harvest.ToggleAll: self.toggle_all,
            harvest.Switch: self.switch,
            harvest.Filter: self.filter,
            harvest.Start: self.start,
            harvest.Stop: self.stop,
            harvest.Background: self.leave,
            harvest.TypeNumber: self.ask_number,
            harvest.RetryFailed: self.retry,
            harvest.Again: self.again,
            harvest.FocusPick: partial(self.go_to, "pick"),
            harvest.FocusSwitches: partial(self.go_to, "switches"),
            harvest.CopyText: self.copy,
        }

    # Moving about

    def stops(self) -> tuple[HarvestPanel, ...]:
        """The step's panels, in view or not: where only one has room, tab brings the other."""
        screen = self.screen
        return screen.of_step() if screen.zoomed is None else screen.in_view()

    def to_step(self, step: Step) -> None:
        """Goes to another step."""
        screen = self.screen
        screen.state.step = step
        screen.zoomed = None
        screen.enter_step()

    def back(self) -> None:
        """Leaves the innermost level there is; stops what is under way before that."""
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
            self.leave()

    def enlarge(self, name: HarvestPanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.screen.update_footer()

    def leave(self) -> None:
        """Returns to the ledger; a harvest that is under way goes on."""
        screen = self.screen
        if screen.in_line:
            screen.leave_line()
        if screen.state.running:
            screen.say("the harvest goes on; H looks at it again")
        screen.dismiss(None)

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for."""
        self.screen.open_line("survey-filter", "filter", self.screen.words, "conversations")

    # Choosing

    def toggle(self) -> None:
        """Chooses the selected conversation, or not; goes to the next one."""
        screen = self.screen
        item = screen.pick.selected
        if item is not None:
            screen.state.toggle(item.candidate)
            screen.pick.select(screen.pick.cursor + 1)
            screen.show()

    def toggle_all(self) -> None:
        """Chooses all, or none."""
        self.screen.state.toggle_all()
        self.screen.show()

    def switch(self) -> None:
        """Switches the selected option."""
        item = self.screen.switches.selected
        if item is not None:
            self.screen.state.switch(item.name)
            self.screen.show()

    # Harvesting

    def start(self) -> None:
        """Starts; what was started on another screen and still goes on is shown instead."""
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

    def stop(self) -> None:
        """Stops after the conversation that is under way."""
        screen = self.screen
        run = screen.state.run
        if run is not None and not run.progress.stopping:
            screen.work.halt(run)
            screen.show()
            screen.say("it stops after the conversation that is under way")

    def ask_number(self) -> None:
        """Asks for the number of conversations that go to the trash."""
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

    def retry(self) -> None:
        """Looks again, with what failed chosen."""
        screen = self.screen
        screen.state.anew(screen.state.failures)
        self._look()

    def again(self) -> None:
        """Looks again."""
        self.screen.state.anew()
        self._look()

    def rescan(self) -> None:
        """Looks at every file again."""
        super().rescan()
        if self.screen.state.step in ("survey", "pick"):
            self.screen.work.look()

    def _look(self) -> None:
        screen = self.screen
        if screen.under_way() is None:
            screen.bench.actions.harvesting = None  # a number that was not typed is not asked for any more
        screen.work.look()
        self.to_step("survey")
