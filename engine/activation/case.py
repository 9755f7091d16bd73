"""One topic with everything known about it for one message, and the phrases that explanations use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.activation.numbers import format_score, format_threshold, format_weight
from engine.activation.policy import Step, decide
from engine.activation.trace import Contribution, Direction, GateOutcome, TriggerHit, Verdict
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

NEGATED = "negated"
"""The rule for a topic that the message asks not to do."""
NOT_OFFERED = "not offered"
"""The rule when the agent is told of likelier topics instead."""
NOT_ASKED = "not asked"
"""The rule when a gate is asked about likelier topics instead, and the start of its reason if about none."""
NEAR_CHANCE = "near chance"
"""The rule of a probability without a hit that says little, as there are few topics to share it."""

_SHOWN_MATCHES = 3
_MATCH_LENGTH = 40
_SHOWN_SIGNALS = 2
_TELLING = 0.05
_BARE_TYPES = frozenset({"pattern", "keywords", "mention", "url"})


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What a row's explanation depends on besides its numbers."""

    direction: Direction
    watchers: WatcherSettings
    on_failure: str = "skip"  # the setting ``gate.on_failure``
    offers: bool = False  # whether the gate is the agent, which is told of what may apply

    @property
    def similarity_nominates(self) -> bool:
        """Whether a score without a match has any effect."""
        return self.direction == "input" and self.watchers.nominate == "either"


@dataclass(frozen=True, slots=True)
class Case:
    """A topic, what the tiers found, and the verdict; attributes are as in ``TopicTrace``."""

    topic: Topic
    hits: Sequence[TriggerHit]
    score: float
    step: Step
    gate: GateOutcome | None
    verdict: Verdict
    context: PolicyContext
    contributions: Sequence[Contribution] = ()
    ignored: Sequence[TriggerHit] = ()

    @property
    def calibrated(self) -> bool:
        """Whether the score is the probability that the topic applies, hits included."""
        return self.context.watchers.preset == "calibrated"

    @property
    def matched(self) -> str:
        """``matched “review”, “PR”``; empty without a hit."""
        return f"matched {matches(self.hits)}" if self.hits else ""

    @property
    def lowest(self) -> float | None:
        """The lowest score that has an effect; ``None`` if no score has."""
        marks = [mark for mark in (self.step.gate_at, self.step.activate_at) if mark is not None]
        return min(marks, default=None)

    def decide(
        self, topic: Topic, hits: Sequence[TriggerHit], score: float, settings: WatcherSettings
    ) -> Step:
        """What the policy says about a variant of this case."""
        return decide(topic, hits, score, settings, is_input=self.context.direction == "input")

    def threshold_source(self, mark: float, from_table: str = "") -> str:
        """Where a threshold comes from if not from the policy table; else ``from_table``."""
        topic, watchers = self.topic, self.context.watchers
        row = watchers.row(topic.priority)
        if mark != self.step.gate_at:
            own = mark == topic.activation_threshold != row.activate
            return ", the topic's own threshold" if own else from_table
        if mark == topic.similarity_threshold != row.gate:
            return ", the topic's own threshold"
        if topic.similarity_threshold is None and mark == watchers.similarity_threshold != row.gate:
            return ", watchers.similarity_threshold"
        return from_table

    @property
    def from_signals(self) -> str:
        """``, from vectors +1.9, words +1.2``; empty without telling signals."""
        return f", from {self.signals}" if self.signals else ""

    @property
    def signals(self) -> str:
        """The strongest signals, for an active topic only those in favour: ``vectors +1.9, words +1.2``."""
        telling = [each for each in self.contributions if abs(each.weight) >= _TELLING]
        if self.verdict == "active":
            telling = [each for each in telling if each.weight > 0]
        return ", ".join(f"{each.signal} {format_weight(each.weight)}" for each in telling[:_SHOWN_SIGNALS])


def matches(hits: Sequence[TriggerHit]) -> str:
    """The first three distinct matches and the number of others: ``“review”, “PR”, “fix” and 2 more``."""
    texts: dict[str, str] = {}
    for hit in hits:
        text = " ".join(hit.matched.split())
        text = text if len(text) <= _MATCH_LENGTH else f"{text[: _MATCH_LENGTH - 1]}…"
        shown = f"“{text}”" if hit.type in _BARE_TYPES else f"{hit.type} “{text}”" if text else hit.type
        texts.setdefault(shown.lower(), shown)
    shown_texts = list(texts.values())
    more = len(shown_texts) - _SHOWN_MATCHES
    return ", ".join(shown_texts[:_SHOWN_MATCHES]) + (f" and {more} more" if more > 0 else "")


def negations(ignored: Sequence[TriggerHit]) -> str:
    """``“deploy” is negated (“don't”)``, of the first hit."""
    return f"{matches(ignored[:1])} is negated (“{ignored[0].negated}”)"


def reaches(score: float, mark: float) -> str:
    """``score .31 ≥ .30``."""
    return f"score {format_score(score, mark)} ≥ {format_threshold(mark)}"


def below(score: float, mark: float) -> str:
    """``score .29 < .30``."""
    return f"score {format_score(score, mark)} < {format_threshold(mark)}"
