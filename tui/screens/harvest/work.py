"""What the harvest screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from engine.errors import AutopoiesisError
from tui.kit.lanes import Lane
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork

if TYPE_CHECKING:
    from engine.knowledge.harvest.report import Survey
    from tui.screens.harvest.run import HarvestRun


@dataclass
class SurveyRead(Message):
    """The conversations were looked at, or could not be.

    Attributes:
        survey: What there is.
        dollars: About what sending all of it costs; ``None`` where that is not known.
        unpriced: Why it is not.
        problem: Why they could not be looked at.
    """

    survey: Survey | None = None
    dollars: float | None = None
    unpriced: str = ""
    problem: str = ""


class HarvestWork(ScreenWork):
    """The lanes of one harvest screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._surveys: Lane[None, SurveyRead] = self.lane(
            lambda _none: self._survey(),
            lambda _none, read: read,
            lambda _none, error: SurveyRead(problem=error),
        )
        self._runs: Lane[HarvestRun, None] = self.lane(
            self._run, lambda _run, _none: None, lambda run, error: run.end(None, error), finish=True
        )
        self._stops: Lane[HarvestRun, None] = self.lane(
            lambda _run: self._engine.knowledge.harvest.stop(), lambda _run, _none: None, finish=True
        )

    def look(self) -> None:
        """Looks at the conversations; nothing is changed: ``SurveyRead``."""
        self._surveys.ask(None)

    def run(self, run: HarvestRun) -> None:
        """Harvests; it goes on when the screen is left. The run tells of itself."""
        self._runs.ask(run)

    def halt(self, run: HarvestRun) -> None:
        """Ends a run after the conversation that is under way."""
        run.stop()
        self._stops.ask(run)

    def _survey(self) -> SurveyRead:
        survey = self._engine.knowledge.harvest.survey()
        try:
            return SurveyRead(survey, self._engine.knowledge.price_of(survey))
        except (AutopoiesisError, OSError) as error:
            return SurveyRead(survey, unpriced=str(error))

    def _run(self, run: HarvestRun) -> None:
        harvest = self._engine.knowledge.harvest

        def on_start(path: str) -> None:
            run.started(path)
            if run.progress.stopping:  # it was asked to stop before it had begun to listen
                harvest.stop()

        run.end(harvest.run(run.wish, run.came, on_start))
