"""What there is to harvest, and what sending it would cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from tui.render.figures import count, dollars

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate, Kind
    from engine.knowledge.harvest.report import Survey
    from engine.knowledge.knowledge import Knowledge

SELECTABLE: tuple[Kind, ...] = ("harvest", "prune")
"""What can be chosen."""


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
