"""State of the harvest screen: step, conversations, selection and options; touches no widgets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.report import Consent, HarvestRequest
from tui.render.figures import count, dollars
from tui.screens.harvest.draw import SELECTABLE, Choice, StageItem, SwitchItem, stage_item
from tui.screens.harvest.run import HarvestRun, Progress

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate
    from engine.knowledge.harvest.report import Survey
    from engine.knowledge.knowledge import Knowledge

_TITLES = {
    "reclaim": ("reclaim", "move conversations to the trash once their knowledge is committed"),
    "empty": ("also empty", "also reclaim conversations in which no items were found"),
    "partial": ("also partial", "also reclaim conversations that were only partly read"),
    "no-harvest": ("no harvest", "discard them without harvesting"),
}


@dataclass(frozen=True, slots=True)
class SurveyRead:
    """The result of scanning the conversations."""

    survey: Survey | None = None
    """``None`` if the scan failed."""
    dollars: float | None = None
    """Estimated cost of sending all of it; ``None`` if unknown."""
    unpriced: str = ""
    """Why the cost is unknown."""
    problem: str = ""


def read_survey(knowledge: Knowledge) -> SurveyRead:
    """Scans the conversations without changing anything; a missing price is not an error."""
    survey = knowledge.harvest.survey()
    try:
        return SurveyRead(survey, knowledge.price_of(survey))
    except (AutopoiesisError, OSError) as error:
        return SurveyRead(survey, unpriced=str(error))


@dataclass(frozen=True, slots=True)
class Price:
    """The estimated cost of a harvest."""

    provider: str
    """``markers`` uses no model."""
    model: str
    tokens: int
    """Estimated input tokens."""
    dollars: float | None
    """``None`` if no price is known."""
    reason: str = ""
    """Why no price is known."""

    @classmethod
    def of(cls, survey: Survey, whole: float | None, chosen: Iterable[Candidate], reason: str = "") -> Price:
        """The share of the selected conversations in the price of everything.

        Args:
            whole: Cost of everything in dollars.
            chosen: The conversations to harvest.
            reason: Why the cost is unknown.
        """
        tokens = sum(each.tokens for each in chosen if each.kind == "harvest")
        share = tokens / survey.tokens if survey.tokens else 0.0
        return cls(survey.provider, survey.model, tokens, None if whole is None else whole * share, reason)

    def __str__(self) -> str:
        if self.provider == "markers":
            return "no model used, $0"
        who = " ".join(filter(None, (self.provider, self.model)))
        if not self.tokens:
            return f"{who}: nothing to send, $0"
        price = self.reason or "price unknown"
        if self.dollars is not None:
            price = f"about {dollars(self.dollars)} plus output"
        return f"{who}: ~{count(self.tokens)} input tokens, {price}"


Step = Literal["pick", "confirm", "result"]
Phase = Literal["loading", "error", "found"]


class HarvestState:
    """The state of one guided harvest.

    Args:
        failed: SHA-256 of the conversations to preselect; all if empty.
    """

    def __init__(self, failed: frozenset[str] = frozenset()) -> None:
        self.step: Step = "pick"
        self.phase: Phase = "loading"
        self.problem = ""
        self.survey: Survey | None = None
        self.run: HarvestRun | None = None
        self._failed = failed
        self._read = SurveyRead()
        self._chosen: set[str] = set()
        self._on = {"reclaim": True, "empty": False, "partial": False, "no-harvest": False}

    # Conversations

    def take(self, read: SurveyRead) -> None:
        """Stores a scan and selects what can be harvested, or only what failed before."""
        self.problem, self.survey, self._read = read.problem, read.survey, read
        self.phase = "found" if read.survey is not None else "error"
        self._chosen = {
            each.path
            for each in self._candidates
            if each.kind in SELECTABLE and (not self._failed or each.sha256 in self._failed)
        }

    def restart(self, failed: frozenset[str]) -> None:
        self.step, self.phase, self.run, self._failed = "pick", "loading", None, failed

    @property
    def _candidates(self) -> tuple[Candidate, ...]:
        return self.survey.candidates if self.survey is not None else ()

    def choices(self) -> list[Choice]:
        """The conversations, selectable ones first."""
        ordered = sorted(self._candidates, key=lambda each: each.kind not in SELECTABLE)
        return [Choice(each, each.path in self._chosen) for each in ordered]

    # Selection and options

    @property
    def selectable(self) -> int:
        return sum(each.kind in SELECTABLE for each in self._candidates)

    @property
    def chosen(self) -> list[Candidate]:
        """The conversations a harvest would process; those left to reclaim only count if reclaim is on."""
        if self._on["no-harvest"] and not self._on["reclaim"]:
            return []
        kinds = SELECTABLE if self._on["reclaim"] else ("harvest",)
        return [each for each in self._candidates if each.path in self._chosen and each.kind in kinds]

    def toggle(self, candidate: Candidate) -> None:
        if candidate.kind in SELECTABLE:
            self._chosen ^= {candidate.path}

    def toggle_all(self) -> None:
        every = {each.path for each in self._candidates if each.kind in SELECTABLE}
        self._chosen = set() if self._chosen == every else every

    def switches(self) -> list[SwitchItem]:
        """The options, with the reason for those that have no effect now."""
        on = self._on
        idle = dict.fromkeys(_TITLES, "")
        for name in ("empty", "partial"):
            if not on["reclaim"]:
                idle[name] = "no effect: reclaim is off"
            elif on["no-harvest"]:
                idle[name] = "no effect: 'no harvest' is on"
        if on["no-harvest"] and not on["reclaim"]:
            idle["no-harvest"] = "nothing to do: reclaim is off"
        return [SwitchItem(name, *_TITLES[name], on[name], idle[name]) for name in _TITLES]

    def switch(self, name: str) -> None:
        self._on[name] = not self._on[name]

    @property
    def price(self) -> Price | None:
        """The cost of the selected conversations."""
        if self.survey is None:
            return None
        chosen = [] if self._on["no-harvest"] else self.chosen
        return Price.of(self.survey, self._read.dollars, chosen, self._read.unpriced)

    @property
    def request(self) -> HarvestRequest:
        """The harvest to run. Its paths are always given: without any, it would mean all conversations."""
        on = self._on
        return HarvestRequest(
            tuple(each.path for each in self.chosen),
            transcripts=self.survey is not None and self.survey.transcripts,
            harvest=not on["no-harvest"],
            reclaim=on["reclaim"],
            consent=Consent(empty=on["empty"], partial=on["partial"]),
        )

    # The run

    @property
    def progress(self) -> Progress | None:
        """The run's progress; ``None`` before there is a run."""
        return self.run.progress if self.run is not None else None

    @property
    def running(self) -> bool:
        progress = self.progress
        return progress is not None and not progress.ended

    def confirmed_run(self, began: float) -> HarvestRun | None:
        """The run that moves the conversations to the trash once confirmed; ``None`` if there are none."""
        progress = self.progress
        if self.run is None or progress is None or not progress.ended or not progress.brake:
            return None
        request = self.run.request
        paths = progress.held_back or request.paths
        agreed = replace(request, paths=paths, consent=replace(request.consent, number=progress.brake))
        chosen = [each for each in self.run.chosen if each.path in set(paths)]
        return HarvestRun(agreed, chosen, began, progress)

    def stages(self) -> list[StageItem]:
        progress = self.progress
        if self.run is None or progress is None:
            return [
                stage_item(each.path, None, current=False, stopping=False, running=False)
                for each in self.chosen
            ]
        again = bool(self.run.request.consent.number)
        return [
            stage_item(
                each.path,
                progress.results.get(each.path),
                current=each.path == progress.current and not again,
                stopping=progress.stopping,
                running=True,
            )
            for each in self.run.chosen
        ]

    @property
    def done(self) -> int:
        """The number of conversations processed so far."""
        if self.run is None:
            return 0
        results = self.run.progress.results
        return sum(each.path in results for each in self.run.chosen)

    @property
    def failures(self) -> frozenset[str]:
        """SHA-256 of the conversations that failed."""
        progress = self.progress
        if self.run is None or progress is None:
            return frozenset()
        failed = {path for path, each in progress.results.items() if each.outcome == "failed"}
        return frozenset(each.sha256 for each in self.run.chosen if each.path in failed)
