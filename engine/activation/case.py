"""One topic's row with all that is known about it, and the phrases that its explanations are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from engine.activation.numbers import limit, signed, written
from engine.activation.policy import Step, decide, thresholds_of
from engine.activation.proof import FREELY, NOTHING, Alone
from engine.activation.trace import Contribution, Direction, GateOutcome, TriggerHit, Verdict
from engine.records import dataclass

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

NOT_ASKED = "not asked"
"""How the rule, or the gate's reason, begins where the gate should have been asked and was not."""

_SHOWN_MATCHES = 3
_MATCH_LENGTH = 40
_SHOWN_SIGNALS = 2
_TELLING = 0.05
_BARE_TYPES = frozenset({"pattern", "keywords", "mention", "url"})


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What besides the numbers decides how a row is explained."""

    direction: Direction
    watchers: WatcherSettings
    on_failure: str = "skip"  # the setting ``gate.on_failure``
    calls: int = 0  # the setting ``gate.max_calls_per_message``
    alone: Mapping[str, Alone] = field(default_factory=dict)
    """What a score may do without a match, by topic; everything for those left out."""

    @property
    def similarity_nominates(self) -> bool:
        """Whether a score without a match does anything."""
        return self.direction == "input" and self.watchers.nominate == "either"


@dataclass(frozen=True, slots=True)
class Case:
    """A topic, what the tiers found, and what became of it; the attributes are those of ``TopicTrace``."""

    topic: Topic
    hits: Sequence[TriggerHit]
    score: float
    step: Step
    gate: GateOutcome | None
    verdict: Verdict
    around: Circumstances
    contributions: Sequence[Contribution] = ()

    @property
    def unasked(self) -> bool:
        """Whether the gate should have been asked about it, and the message may cost no more calls."""
        return self.step.rule == NOT_ASKED

    @property
    def calibrated(self) -> bool:
        """Whether the score is the probability that the topic applies, its hits included."""
        return self.around.watchers.preset == "calibrated"

    @property
    def alone(self) -> Alone:
        """What the score may do without a match."""
        if self.around.direction != "input":
            return NOTHING
        return self.around.alone.get(self.topic.name, FREELY)

    @property
    def matched(self) -> str:
        """``matched “review”, “PR”``; empty without a hit."""
        return f"matched {matches(self.hits)}" if self.hits else ""

    @property
    def lowest(self) -> float | None:
        """The score from which anything happens at all; ``None``: nothing ever does."""
        gate, active = self.step.gate_at, self.step.activate_at
        if gate is None and active is None:
            return self.once_proven
        if gate is None or active is None:
            return active if gate is None else gate
        return min(gate, active)

    @property
    def once_proven(self) -> float | None:
        """Where no score activates it because labels have not proven it yet: from which one would then."""
        if self.hits or not self.calibrated or self.alone.activates or not self.alone.nominates:
            return None
        thresholds = thresholds_of(self.topic, self.around.watchers, matched=False)
        return thresholds.gate if thresholds.activate is None else thresholds.activate

    def otherwise(
        self, topic: Topic, hits: Sequence[TriggerHit], score: float, settings: WatcherSettings
    ) -> Step:
        """What the policy says about another case."""
        return decide(topic, hits, score, settings, alone=self.alone)

    def whose(self, mark: float, otherwise: str) -> str:
        """Where a threshold comes from when it is not the table's; else ``otherwise``."""
        topic, watchers = self.topic, self.around.watchers
        row = watchers.row(topic.priority)
        if mark != self.step.gate_at:
            own = mark == topic.activation_threshold != row.activate
            return ", the topic's own threshold" if own else otherwise
        if mark == topic.similarity_threshold != row.gate:
            return ", the topic's own threshold"
        if topic.similarity_threshold is None and mark == watchers.similarity_threshold != row.gate:
            return ", watchers.similarity_threshold"
        return otherwise

    @property
    def made_of(self) -> str:
        """``, from vectors +1.9, words +1.2``: the strongest signals; of an active topic, those for it."""
        return f", from {self.signals}" if self.signals else ""

    @property
    def signals(self) -> str:
        """``vectors +1.9, words +1.2``, likewise."""
        told = [each for each in self.contributions if abs(each.weight) >= _TELLING]
        if self.verdict == "active":
            told = [each for each in told if each.weight > 0]
        return ", ".join(f"{each.signal} {signed(each.weight)}" for each in told[:_SHOWN_SIGNALS])


def matches(hits: Sequence[TriggerHit]) -> str:
    """The matched texts, each once, the first three in full: ``“review”, “PR” and 2 more``."""
    texts: dict[str, str] = {}
    for hit in hits:
        text = " ".join(hit.matched.split())
        text = text if len(text) <= _MATCH_LENGTH else f"{text[: _MATCH_LENGTH - 1]}…"
        shown = f"“{text}”" if hit.type in _BARE_TYPES else f"{hit.type} “{text}”" if text else hit.type
        texts.setdefault(shown.lower(), shown)
    shown_texts = list(texts.values())
    more = len(shown_texts) - _SHOWN_MATCHES
    return ", ".join(shown_texts[:_SHOWN_MATCHES]) + (f" and {more} more" if more > 0 else "")


def reaches(score: float, mark: float) -> str:
    """``.31 ≥ .30``."""
    return f"{written(score, mark)} ≥ {limit(mark)}"


def below(score: float, mark: float) -> str:
    """``.29 < .30``."""
    return f"{written(score, mark)} < {limit(mark)}"
