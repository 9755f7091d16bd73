"""The guided harvest: look, choose, confirm, result; nothing happens before confirmation (design 8)."""

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
from tui.screens.harvest.state import HarvestState, Step, SurveyRead, read_survey
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
    """Guides the user through a harvest, or shows the one in progress.

    Args:
        failed: SHA-256 of the conversations to preselect; by default all that can be harvested.
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
        self._surveys: Lane[None, SurveyRead] = self.lane(
            lambda _none: read_survey(bench.engine.knowledge),
            lambda _none, read: self._take(read),
            lambda _none, problem: self._take(SurveyRead(problem=problem)),
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
        if self.state.step in ("survey", "pick"):
            self._surveys.ask(None)

    # Display

    def offered(self) -> tuple[str, ...]:
        return _PANELS[self.state.step]

    @property
    def line(self) -> str:
        return "number" if self.prompt.mode == "number" else "survey-filter"

    def enter_step(self) -> None:
        """Shows the step's panels and focuses the first."""
        if self.in_line:
            self.leave_line()
        self.panel_in_use = self.offered()[0]
        self.lay_out()
        self.show()
        self.focus_panel(self.offered()[0])

    def narrow(self, query: str) -> None:
        self.words = query
        for panel in (self.survey, self.pick):
            panel.filter(query)
        self.show()

    def show(self) -> None:
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
        state = self.state
        if state.phase == "loading":
            return [Row(("scanning conversations …", roles.faint))]
        if state.phase == "error":
            rows = wrap([("! ", roles.error), (state.problem, roles.error)], width, indent=2)
            return [*rows, Row(), Row(("ctrl+r", roles.accent), (" tries again", roles.muted))]
        if self.words:
            return [Row(("no conversation matches; esc shows all", roles.muted))]
        return [
            Row(("No conversations to harvest.", roles.normal)),
            Row(),
            *wrap([("A harvest reads conversations/, not the trash.", roles.muted)], width),
        ]

    def tick_while(self, wanted: bool) -> None:
        """Updates the elapsed time every second, but only while a harvest runs."""
        if wanted and self._ticking is None:
            self._ticking = self.set_interval(1.0, self.steps.fit)
        elif not wanted and self._ticking is not None:
            self._ticking.stop()
            self._ticking = None

    # Results and events

    def _take(self, read: SurveyRead) -> None:
        if self.state.step in ("survey", "pick"):
            self.state.take(read)
            self.show()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.update_footer()
