"""The guided harvest: look, choose, confirm, result; nothing happens before the third (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer
from textual.types import CSSPathType

from tui.kit.full_screen import FullScreen
from tui.kit.prompt import PromptLine
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.screens.harvest.figures import (
    Step,
    draw_chosen,
    draw_classes,
    draw_price,
    draw_trail,
    draw_wish,
    elapsed,
)
from tui.screens.harvest.outcome import draw_outcome
from tui.screens.harvest.panels import (
    OutcomePanel,
    PickPanel,
    ProgressPanel,
    SurveyPanel,
    SwitchesPanel,
)
from tui.screens.harvest.run import HarvestRun
from tui.screens.harvest.state import HarvestState
from tui.screens.harvest.steps_bar import StepsBar
from tui.screens.harvest.work import HarvestWork, SurveyRead

if TYPE_CHECKING:
    from tui.kit.bench import Bench

LOW = 20
"""Lines below which one panel at a time is in view."""
_PANELS: dict[Step, tuple[str, ...]] = {
    "survey": ("survey",),
    "pick": ("pick", "switches"),
    "confirm": ("progress",),
    "result": ("outcome",),
}


class HarvestLayout(FullScreen):
    """The screen that leads through a harvest, or to the one that is under way.

    Args:
        bench: The workbench below.
        failed: Conversations to choose beforehand, by sha256; all that can be when left out.
    """

    AUTO_FOCUS = "#survey"
    CSS_PATH: ClassVar[CSSPathType | None] = "harvest.tcss"
    area = "harvest"
    work: HarvestWork

    def __init__(self, bench: Bench, failed: frozenset[str] = frozenset()) -> None:
        super().__init__(bench, "survey")
        self.state = HarvestState(failed)
        self.work = HarvestWork(bench.engine, self.post_message)
        self.words = ""
        self._ticking: Timer | None = None

    def body(self) -> ComposeResult:
        """The steps, and the panels of all of them, of which those of one are in view."""
        self.steps = StepsBar(id="steps")
        self.survey = SurveyPanel(id="survey")
        self.pick = PickPanel(id="pick")
        self.switches = SwitchesPanel(id="switches")
        self.progress_list = ProgressPanel(id="progress")
        self.outcome = OutcomePanel(id="outcome")
        yield self.steps
        with Container(id="harvest"):
            yield self.survey
            yield self.pick
            yield self.switches
            yield self.progress_list
            yield self.outcome

    def below(self) -> ComposeResult:
        """The line."""
        yield self.prompt

    def end(self) -> None:
        """What is under way goes on; the workbench says when it is done."""
        run = self.state.run
        if run is not None:
            run.follow(None, self.bench.post_message)
        self._tick_while(False)

    def follow(self, run: HarvestRun) -> None:
        """Hears how far a run is."""
        run.follow(self.post_message, self.bench.post_message)

    def under_way(self) -> HarvestRun | None:
        """A run that was begun on another screen and is not done."""
        run = self.bench.harvesting
        return run if run is not None and run is not self.state.run and not run.progress.ended else None

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return super().waiting or self.state.running

    # What is on the screen

    @property
    def alone(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.height < LOW

    def of_step(self) -> tuple[str, ...]:
        """The panels of the step."""
        return _PANELS[self.state.step]

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        names = self.of_step()
        if self.alone and len(names) > 1:
            used = self.panel_before if self.in_line else self.panel_in_use
            return (used if used in names else names[0],)
        return names

    @property
    def line(self) -> str:
        """The line's name tells what is typed there."""
        return "number" if self.prompt.mode == "number" else "survey-filter"

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self.in_view()
        self.lay_out_frame({"-alone": len(shown) == 1}, "#steps")
        for panel in (self.survey, self.pick, self.switches, self.progress_list, self.outcome):
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

    def enter_step(self) -> None:
        """Shows the step's panels and gives the first of them the keys."""
        if self.in_line:
            self.leave_line()
        self.panel_in_use = self.of_step()[0]
        self.lay_out()
        self.show()
        self.focus_panel(self.of_step()[0])

    def narrow(self, query: str) -> None:
        """Keeps to the conversations that hold some words."""
        self.words = query
        for panel in (self.survey, self.pick):
            panel.filter(query)
        self.show()

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        state = self.state
        about = (state.phase, state.problem, self.words)
        if state.step == "survey":
            self.survey.show_items(state.choices(), self._note, about)
        elif state.step == "pick":
            self.pick.show_items(state.choices(), self._note, about)
            self.switches.show_switches(state.switches())
        elif state.step == "confirm":
            stages = state.stages()
            current = next((at for at, each in enumerate(stages) if each.sign == "…"), -1)
            self.progress_list.show_stages(stages, current, run=state.run is not None)
        elif state.progress is not None:
            progress = state.progress
            self.outcome.show_outcome(
                lambda width, roles: draw_outcome(progress, self.bench.key_of("open_review"), width, roles),
                progress,
            )
        self._show_steps()
        self._tick_while(state.running)
        self.update_footer()

    def _show_steps(self) -> None:
        self.steps.show(self._draw_steps)

    def _draw_steps(self, width: int, roles: Roles) -> list[Row]:
        """The trail of steps, and the figures of the present one."""
        state = self.state
        rows = [draw_trail(state.step, width, roles)]
        survey, price, progress = state.survey, state.price, state.progress
        if state.step == "result":
            return rows
        if progress is not None and state.run is not None:
            seconds = self.bench.clock.monotonic() - state.run.began
            said = elapsed(state.done, len(state.run.chosen), seconds)
            tail = " · stopping after this one …" if progress.stopping else " · x stops, b leaves it running"
            moving = bool(state.run.wish.consent.number)
            what = "moving to the trash  " if moving else "harvesting  "
            rows.append(Row((what, roles.gate), (said, roles.strong), (tail, roles.muted)).cut(width))
        elif survey is not None and price is not None:
            if state.step == "survey":
                rows += [*draw_classes(survey, width, roles), *draw_price(price, width, roles)]
            elif state.step == "pick":
                rows += draw_chosen(state.chosen, state.selectable, width, roles)
                rows += draw_price(price, width, roles)
            else:
                rows += draw_wish(state.wish, state.chosen, price, width, roles)
        return rows

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no conversations."""
        state = self.state
        if state.phase == "loading":
            return [Row(("looking at the conversations …", roles.faint))]
        if state.phase == "trouble":
            said = wrap([("! ", roles.trouble), (state.problem, roles.trouble)], width, indent=2)
            return [*said, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
        if self.words:
            return [Row(("no conversation holds these words; esc shows all", roles.muted))]
        return [
            Row(("There is no conversation to harvest.", roles.normal)),
            Row(),
            *wrap([("A harvest looks at conversations/; what was taken into the trash is gone from there.",
                    roles.muted)], width),
        ]  # fmt: skip

    def _tick_while(self, wanted: bool) -> None:
        """Counts seconds while a harvest is under way, and only then."""
        if wanted and self._ticking is None:
            self._ticking = self.set_interval(1.0, self._show_steps)
        elif not wanted and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None

    # What comes in

    @on(SurveyRead)
    def _survey_read(self, read: SurveyRead) -> None:
        if self.state.step in ("survey", "pick"):
            self.state.take(read)
            self.show()

    # What a person does

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.narrow(edited.value)
