"""The guided harvest: look, choose, confirm, result; nothing happens before the third (design 8)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer
from textual.types import CSSPathType

from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail
from tui.kit.rows import RowList
from tui.render.draw import Row, wrap
from tui.render.roles import Roles
from tui.screens.harvest.outcome import OutcomePanel
from tui.screens.harvest.panels import PickPanel, ProgressPanel, SurveyPanel, SwitchesPanel
from tui.screens.harvest.state import HarvestState, Step, Surveyed, read_survey
from tui.screens.harvest.steps import StepsBar, draw_steps

if TYPE_CHECKING:
    from tui.kit.bench import Bench

_PANELS: dict[Step, tuple[str, ...]] = {
    "survey": ("survey",),
    "pick": ("pick", "switches"),
    "confirm": ("progress",),
    "result": ("outcome",),
}


class HarvestLayout(ListDetail):
    """The screen that leads through a harvest, or to the one that is under way.

    Args:
        failed: Conversations to choose beforehand, by sha256; all that can be when left out.
    """

    AUTO_FOCUS = "#survey"
    CSS_PATH: ClassVar[CSSPathType | None] = "harvest.tcss"
    area = "harvest"
    above = ("#steps",)

    def __init__(self, bench: Bench, failed: frozenset[str] = frozenset()) -> None:
        super().__init__(bench, "survey")
        self.state = HarvestState(failed)
        self.words = ""
        self._ticking: Timer | None = None
        self._surveys: Lane[None, Surveyed] = self.lane(
            lambda _none: read_survey(bench.engine.knowledge),
            lambda _none, read: self._take(read),
            lambda _none, problem: self._take(Surveyed(problem=problem)),
        )

    def body(self) -> ComposeResult:
        self.steps = StepsBar(partial(draw_steps, self.state, self.bench.clock), id="steps")
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

    def look(self) -> None:
        """Looks at the conversations; nothing is changed."""
        self._surveys.ask(None)

    # What is on the screen

    def offered(self) -> tuple[str, ...]:
        """The panels of the step."""
        return _PANELS[self.state.step]

    @property
    def line(self) -> str:
        """The line's name tells what is typed there."""
        return "number" if self.prompt.mode == "number" else "survey-filter"

    def enter_step(self) -> None:
        """Shows the step's panels and gives the first of them the keys."""
        if self.in_line:
            self.leave_line()
        self.panel_in_use = self.offered()[0]
        self.lay_out()
        self.show()
        self.focus_panel(self.offered()[0])

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
            self.switches.show_items(state.switches())
        elif state.step == "confirm":
            stages = state.stages()
            current = next((at for at, each in enumerate(stages) if each.sign == "…"), -1)
            self.progress_list.show_stages(stages, current, run=state.run is not None)
        elif state.progress is not None:
            self.outcome.show_outcome(state.progress, self.bench.key_of("open_review"))
        self.steps.fit()
        self.tick_while(state.running)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        """What stands where there are no conversations."""
        state = self.state
        if state.phase == "loading":
            return [Row(("looking at the conversations …", roles.faint))]
        if state.phase == "error":
            said = wrap([("! ", roles.error), (state.problem, roles.error)], width, indent=2)
            return [*said, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
        if self.words:
            return [Row(("no conversation holds these words; esc shows all", roles.muted))]
        return [
            Row(("There is no conversation to harvest.", roles.normal)),
            Row(),
            *wrap([("A harvest looks at conversations/; what was taken into the trash is gone from there.",
                    roles.muted)], width),
        ]  # fmt: skip

    def tick_while(self, wanted: bool) -> None:
        """Counts seconds while a harvest is under way, and only then."""
        if wanted and self._ticking is None:
            self._ticking = self.set_interval(1.0, self.steps.fit)
        elif not wanted and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None

    # What comes in

    def _take(self, read: Surveyed) -> None:
        if self.state.step in ("survey", "pick"):
            self.state.take(read)
            self.show()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()
