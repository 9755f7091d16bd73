"""The data of activation: a message in, a trace out (spec 4 and 5, design 1 and 4).

A trace explains itself: every topic considered has a row with its hits, its scores, the rule that applied,
the gate's answer, and what would have changed the outcome.
"""

from __future__ import annotations

from dataclasses import field
from datetime import UTC, datetime
from typing import Literal

from engine.startup.records import dataclass

Direction = Literal["input", "output"]
Verdict = Literal["active", "offered", "dropped", "rejected", "failed", "manual", "off"]
GateAnswer = Literal["yes", "no", "offered", "failed"]


@dataclass(frozen=True, slots=True)
class Event:
    """An event from a webhook or a schedule, for ``webhook`` and ``cron`` triggers."""

    source: str
    event: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as activation sees it."""

    text: str
    direction: Direction = "input"
    """``input`` to the agent, or its ``output``."""
    session_id: str = ""  # empty for a message tried by hand
    at: datetime = field(default_factory=lambda: datetime.now(UTC))  # UTC
    paths: tuple[str, ...] = ()  # file paths in the turn's tool calls, for ``glob`` triggers
    event: Event | None = None  # set when the message comes from a webhook or a schedule
    calls: tuple[str, ...] = ()
    """One line for each tool call of an agent's turn, such as the command it ran."""


@dataclass(frozen=True, slots=True)
class TriggerHit:
    """One trigger that fired."""

    trigger: int  # index into ``Topic.triggers``
    type: str
    matched: str  # the text that matched, at most 80 characters
    start: int = -1
    """Character offset of the match in ``Message.text``; -1 if it is not in the text (a path, an event, the
    language), or if the text is not in composed Unicode."""
    end: int = -1  # end offset, exclusive; -1 likewise
    negated: str = ""
    """The words of the message that negate it, such as ``don't``, so that it does not count; else empty."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """The effect of one signal on a topic's probability (design 4)."""

    signal: str  # such as ``words``; ``trigger`` for the tier-1 hits
    weight: float
    """Change in log-odds, in nats, relative to a topic unrelated to the message; positive is in favour."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words of the message that tier 2 counted in favour of a topic."""

    start: int  # offset of the first character in ``Message.text``
    end: int  # end offset, exclusive
    weight: float  # 0 to 1; the strongest span of a row has 1


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """The answer of tier 3 about one topic."""

    answer: GateAnswer  # ``failed`` without an answer
    provider: str  # ``local``, ``ask``, ``anthropic``, ``openai`` …
    model: str = ""
    cached: bool = False  # the answer to an earlier, equal question
    probability: float | None = None  # the provider's confidence that the topic applies, if any
    reason: str = ""  # one sentence: why it answered so, or how it failed
    latency_ms: float = 0.0  # wall-clock time
    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class TopicTrace:
    """One topic, considered for one message."""

    topic: str
    priority: str
    activation: str  # ``auto``, ``gated`` or ``manual``
    hits: tuple[TriggerHit, ...]  # tier 1: the triggers that fired
    score: float  # tier 2, 0 to 1
    threshold: float
    activate_at: float | None
    """The score from which the policy row activates without the gate; ``None``: never."""
    gate_at: float | None  # the score from which the policy row asks the gate; ``None``: never
    rule: str  # the policy row that applied, as text, e.g. ``high <.30``
    gate: GateOutcome | None  # tier 3; ``None`` if not asked
    verdict: Verdict
    """``active``, ``offered`` to the agent, which opens it if it applies, ``dropped`` by tiers 1 and 2,
    ``rejected`` by the gate, ``failed`` (the gate failed and ``gate.on_failure`` skips), ``manual`` (only a
    person activates it) or ``off`` (switched off by hand)."""
    why: str  # one sentence
    flip: str = ""  # what would have changed the verdict, one sentence; may be empty
    contributions: tuple[Contribution, ...] = ()
    """The effect of each signal on ``score``, strongest first; empty if ``score`` is one raw signal (the
    ``spec`` preset), and for topics far from the message."""
    words: tuple[Span, ...] = ()
    """The words that tier 2 counted in favour of the topic, in order, not overlapping."""
    ignored: tuple[TriggerHit, ...] = ()  # hits that do not count, since the message negates them

    @property
    def active(self) -> bool:
        """Whether the topic enters the prompt."""
        return self.verdict == "active"

    @property
    def offered(self) -> bool:
        """Whether the agent is told of the topic in a line."""
        return self.verdict == "offered"


@dataclass(frozen=True, slots=True)
class Correction:
    """A hint from an output watcher to the agent, given before its next turn (spec 4.3)."""

    topic: str
    hint: str
    matched: str


@dataclass(frozen=True, slots=True)
class Funnel:
    """Number of topics at each step: ``topics`` in all, ``tier1`` with a trigger hit, ``tier2`` with a hit or
    a score at or above their threshold, ``asked`` about at the gate, and ``active``.
    """

    topics: int
    tier1: int
    tier2: int
    asked: int
    active: int


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that activation did with one message.

    ``rows`` are sorted: active first, then offered, then by score and name. ``deciding`` is the signal behind
    ``TopicTrace.score``: ``probability`` with the ``calibrated`` preset, ``tfidf`` with ``spec``.
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

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of the topics that the agent is told of, in row order."""
        return tuple(row.topic for row in self.rows if row.offered)

    def row(self, topic: str) -> TopicTrace | None:
        """The row of a topic, or ``None`` if it was not considered."""
        return next((row for row in self.rows if row.topic == topic), None)
