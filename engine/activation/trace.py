"""The values of activation: a message in, a trace out (spec 4 and 5, design 1 and 4).

A trace explains itself: every topic considered has a row with what hit, what was scored, which rule
applied, what the gate said, and what would have changed the outcome.
"""

from __future__ import annotations

from dataclasses import field
from datetime import UTC, datetime
from typing import Literal

from engine.records import dataclass

Direction = Literal["input", "output"]
Verdict = Literal["active", "dropped", "rejected", "failed", "manual", "off"]
GateAnswer = Literal["yes", "no", "failed"]


@dataclass(frozen=True, slots=True)
class Event:
    """What a webhook or a clock brought, for ``webhook`` and ``cron`` triggers."""

    source: str
    event: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as activation sees it."""

    text: str
    direction: Direction = "input"
    """``input`` for what reaches the agent, ``output`` for what the agent wrote."""
    session_id: str = ""  # empty for a message tried by hand
    at: datetime = field(default_factory=lambda: datetime.now(UTC))  # UTC
    paths: tuple[str, ...] = ()  # file paths that tool calls of the turn named, for ``glob`` triggers
    event: Event | None = None  # set when the message comes from a webhook or a schedule
    calls: tuple[str, ...] = ()
    """What the tool calls of an agent's turn did, a line each, such as the command that was run."""


@dataclass(frozen=True, slots=True)
class TriggerHit:
    """One trigger that fired."""

    trigger: int  # index into ``Topic.triggers``
    type: str
    matched: str  # the text that matched, at most 80 characters
    start: int = -1
    """Offset of the match in ``Message.text`` in characters; -1 when it is not in the text (a path, an event,
    the language as a whole)."""
    end: int = -1  # end offset, exclusive; -1 likewise


@dataclass(frozen=True, slots=True)
class Score:
    """One tier-2 signal: its name (``tfidf``, …) and its value, 0 to 1."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one signal did to a topic's probability (design 4)."""

    signal: str  # the signal's name, as in ``Score``; ``trigger`` for the tier-1 hits
    weight: float
    """By how much it moved the log-odds, in nats, compared with what a topic that has nothing to do with the
    message would show; positive speaks for the topic."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words of the message that tier 2 took as speaking for a topic."""

    start: int  # offset of the first character in ``Message.text``
    end: int  # offset behind the last
    weight: float  # how much, 0 to 1; the strongest span of a row has 1


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What tier 3 said about one topic."""

    answer: GateAnswer  # ``yes``, ``no``, or ``failed`` when no answer was had
    provider: str  # ``local``, ``ask``, ``anthropic``, ``openai`` …
    model: str = ""
    cached: bool = False  # the answer was remembered from an earlier, equal question
    probability: float | None = None  # the provider's own confidence that the topic applies, where it has one
    reason: str = ""  # one sentence: why yes, why no, or how it failed
    latency_ms: float = 0.0  # wall-clock time of the question
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class TopicTrace:
    """One topic considered for one message."""

    topic: str
    priority: str
    activation: str  # ``auto``, ``gated`` or ``manual``
    hits: tuple[TriggerHit, ...]  # tier 1: the triggers that fired
    scores: tuple[Score, ...]  # tier 2: every signal, in a fixed order
    score: float  # the tier-2 score the policy used, 0 to 1
    threshold: float
    activate_at: float | None
    """The score from which the policy row activates without the gate; ``None``: never."""
    gate_at: float | None  # the score from which the policy row asks the gate; ``None``: never
    rule: str  # the policy row that applied, as text, e.g. ``high <.30``
    gate: GateOutcome | None  # tier 3; ``None`` when it was not asked
    verdict: Verdict
    """``active``; ``dropped`` (by tiers 1 and 2), ``rejected`` (the gate said no), ``failed`` (the gate
    failed and ``gate.on_failure`` skips), ``manual`` (only a person activates it), ``off`` (a person switched
    it off)."""
    why: str  # one sentence
    flip: str = ""  # one sentence: what would have changed the verdict; may be empty
    contributions: tuple[Contribution, ...] = ()
    """What each signal did to ``score``, strongest first; empty where ``score`` is one raw signal (the
    ``spec`` preset) and for topics far from the message."""
    words: tuple[Span, ...] = ()
    """The words that tier 2 took as speaking for the topic, in order, not overlapping."""

    @property
    def active(self) -> bool:
        """Whether the topic enters the prompt."""
        return self.verdict == "active"


@dataclass(frozen=True, slots=True)
class Correction:
    """What an output watcher tells the agent before its next turn (spec 4.3)."""

    topic: str
    hint: str
    matched: str


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many topics were left after each step.

    ``topics`` known, ``tier1`` with a trigger hit, ``tier2`` at or above their threshold or hit, ``asked``
    of the gate, ``active`` at the end.
    """

    topics: int
    tier1: int
    tier2: int
    asked: int
    active: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that activation did with one message.

    ``rows`` are ordered: active first, then by score, then by name. Times are milliseconds. ``deciding`` is
    the signal that ``TopicTrace.score`` is: ``probability`` where tier 2 is calibrated, ``tfidf`` with the
    specification's preset.
    """

    message: Message
    rows: tuple[TopicTrace, ...]
    funnel: Funnel
    corrections: tuple[Correction, ...] = ()
    tier1_ms: float = 0.0
    tier2_ms: float = 0.0
    gate_ms: float = 0.0
    cost_usd: float = 0.0
    why: str = ""
    deciding: str = "tfidf"

    @property
    def active(self) -> tuple[str, ...]:
        """Names of the active topics, in row order."""
        return tuple(row.topic for row in self.rows if row.active)

    def row(self, topic: str) -> TopicTrace | None:
        """The row of a topic, or ``None`` when it was not considered."""
        return next((row for row in self.rows if row.topic == topic), None)
