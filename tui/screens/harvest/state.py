"""What the harvest screen knows: the step, what there is, what is chosen, and what shall be done with it.

Nothing here touches a widget or waits for anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.report import Consent, HarvestRequest
from tui.render.figures import count, dollars
from tui.screens.harvest.rows import SELECTABLE, Choice, StageItem, SwitchItem, stage_item
from tui.screens.harvest.run import HarvestRun, Progress

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate
    from engine.knowledge.harvest.report import Survey
    from engine.knowledge.knowledge import Knowledge


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What looking at the conversations gave."""

    survey: Survey | None = None
    """What there is; ``None`` where they could not be looked at."""
    dollars: float | None = None
    """About what sending all of it costs; ``None`` where that is not known."""
    unpriced: str = ""
    """Why it is not."""
    problem: str = ""
    """Why they could not be looked at."""


def read_survey(knowledge: Knowledge) -> Surveyed:
    """Looks at the conversations and changes nothing; without a price there is still a survey."""
    survey = knowledge.harvest.survey()
    try:
        return Surveyed(survey, knowledge.price_of(survey))
    except (AutopoiesisError, OSError) as error:
        return Surveyed(survey, unpriced=str(error))


@dataclass(frozen=True, slots=True)
class Price:
    """What a harvest would send, and to whom."""

    provider: str
    """``markers`` asks no model."""
    model: str
    tokens: int
    """About how many would be sent."""
    dollars: float | None
    """About what that costs; ``None`` where no price is known."""
    why: str = ""
    """Why it is not known."""

    @classmethod
    def of(
        cls, survey: Survey, whole: float | None, chosen: Iterable[Candidate] | None = None, why: str = ""
    ) -> Price:
        """The price of all, or of what is chosen, which is its share.

        Args:
            whole: What all of it costs.
            chosen: What is harvested; all there is when left out.
            why: Why that is not known.
        """
        tokens = survey.tokens
        if chosen is not None:
            tokens = sum(each.tokens for each in chosen if each.kind == "harvest")
        share = tokens / survey.tokens if survey.tokens else 0.0
        return cls(survey.provider, survey.model, tokens, None if whole is None else whole * share, why)

    def __str__(self) -> str:
        if self.provider == "markers":
            return "no model used, $0"
        who = " ".join(filter(None, (self.provider, self.model)))
        if not self.tokens:
            return f"{who}: nothing to send, $0"
        price = self.why or "no price is known"
        if self.dollars is not None:
            price = f"about {dollars(self.dollars)} and the replies"
        return f"{who}: ~{count(self.tokens)} tokens to send, {price}"


Step = Literal["survey", "pick", "confirm", "result"]
Phase = Literal["loading", "error", "found"]

_TITLES = {
    "reclaim": ("reclaim", "move conversations whose knowledge is committed to the trash"),
    "empty": ("also empty", "also remove conversations in which nothing was found"),
    "partial": ("also partial", "also remove conversations that were only partly read"),
    "no-harvest": ("no harvest", "skip the harvest and discard them"),
}


class HarvestState:
    """The state of one guided harvest.

    Args:
        failed: Conversations to choose beforehand, by the sha256 of their bytes; all there are when empty.
    """

    def __init__(self, failed: frozenset[str] = frozenset()) -> None:
        self.step: Step = "survey"
        self.phase: Phase = "loading"
        self.problem = ""
        self.survey: Survey | None = None
        self.run: HarvestRun | None = None
        self._failed = failed
        self._read = Surveyed()
        self._chosen: set[str] = set()
        self._on = {"reclaim": True, "empty": False, "partial": False, "no-harvest": False}

    # What there is

    def take(self, read: Surveyed) -> None:
        """Takes in what there is; what can be harvested is chosen, or what failed."""
        self.problem, self.survey, self._read = read.problem, read.survey, read
        self.phase = "found" if read.survey is not None else "error"
        self._chosen = {
            each.path
            for each in self._candidates
            if each.kind in SELECTABLE and (not self._failed or each.sha256 in self._failed)
        }

    def anew(self, failed: frozenset[str]) -> None:
        """Begins with the first step again."""
        self.step, self.phase, self.run, self._failed = "survey", "loading", None, failed

    @property
    def _candidates(self) -> tuple[Candidate, ...]:
        return self.survey.candidates if self.survey is not None else ()

    def choices(self) -> list[Choice]:
        """The conversations; those that can be chosen come first, in the survey without a choice."""
        ordered = sorted(self._candidates, key=lambda each: each.kind not in SELECTABLE)
        if self.step == "survey":
            return [Choice(each) for each in ordered]
        return [Choice(each, each.path in self._chosen) for each in ordered]

    # What is chosen

    @property
    def selectable(self) -> int:
        """How many can be chosen."""
        return sum(each.kind in SELECTABLE for each in self._candidates)

    @property
    def chosen(self) -> list[Candidate]:
        """Those that a harvest would look at: what only waits to be reclaimed is none where nothing is."""
        if self._on["no-harvest"] and not self._on["reclaim"]:
            return []
        kinds = SELECTABLE if self._on["reclaim"] else ("harvest",)
        return [each for each in self._candidates if each.path in self._chosen and each.kind in kinds]

    def toggle(self, candidate: Candidate) -> None:
        """Chooses a conversation, or leaves it out."""
        if candidate.kind in SELECTABLE:
            self._chosen ^= {candidate.path}

    def toggle_all(self) -> None:
        """Chooses all that can be; when all are, none."""
        every = {each.path for each in self._candidates if each.kind in SELECTABLE}
        self._chosen = set() if self._chosen == every else every

    def switches(self) -> list[SwitchItem]:
        """The options, and why some change nothing just now."""
        on = self._on
        idle = dict.fromkeys(_TITLES, "")
        for name in ("empty", "partial"):
            if not on["reclaim"]:
                idle[name] = "nothing is reclaimed"
            elif on["no-harvest"]:
                idle[name] = "nothing is harvested"
        if on["no-harvest"] and not on["reclaim"]:
            idle["no-harvest"] = "then nothing would happen at all: reclaim is off"
        return [SwitchItem(name, *_TITLES[name], on[name], idle[name]) for name in _TITLES]

    def switch(self, name: str) -> None:
        """Switches an option."""
        self._on[name] = not self._on[name]

    @property
    def price(self) -> Price | None:
        """What the chosen ones would cost; in the first step what all would."""
        if self.survey is None:
            return None
        chosen = None if self.step == "survey" else self.chosen
        if self._on["no-harvest"] and chosen is not None:
            chosen = []
        return Price.of(self.survey, self._read.dollars, chosen, self._read.unpriced)

    @property
    def wish(self) -> HarvestRequest:
        """What is to be done. Its paths are never left out: that would mean all there are."""
        on = self._on
        return HarvestRequest(
            tuple(each.path for each in self.chosen),
            transcripts=self.survey is not None and self.survey.transcripts,
            harvest=not on["no-harvest"],
            reclaim=on["reclaim"],
            consent=Consent(empty=on["empty"], partial=on["partial"]),
        )

    # What happens

    @property
    def progress(self) -> Progress | None:
        """How far the run is; ``None`` before there is one."""
        return self.run.progress if self.run is not None else None

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        progress = self.progress
        return progress is not None and not progress.ended

    def by_number(self, began: float) -> HarvestRun | None:
        """The run that moves to the trash what waits for its number; ``None`` where nothing does."""
        progress = self.progress
        if self.run is None or progress is None or not progress.ended or not progress.brake:
            return None
        wish = self.run.wish
        paths = progress.held_back or wish.paths
        agreed = replace(wish, paths=paths, consent=replace(wish.consent, number=progress.brake))
        chosen = [each for each in self.run.chosen if each.path in set(paths)]
        return HarvestRun(agreed, chosen, began, progress)

    def stages(self) -> list[StageItem]:
        """How far each conversation is."""
        progress = self.progress
        if self.run is None or progress is None:
            return [
                stage_item(each.path, None, current=False, stopping=False, running=False)
                for each in self.chosen
            ]
        again = bool(self.run.wish.consent.number)
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
        """How many conversations of the run are done."""
        if self.run is None:
            return 0
        results = self.run.progress.results
        return sum(each.path in results for each in self.run.chosen)

    @property
    def failures(self) -> frozenset[str]:
        """What failed in the run, by sha256."""
        progress = self.progress
        if self.run is None or progress is None:
            return frozenset()
        failed = {path for path, each in progress.results.items() if each.outcome == "failed"}
        return frozenset(each.sha256 for each in self.run.chosen if each.path in failed)
