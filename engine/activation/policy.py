"""The gate bypass table applied to one topic (spec 5.2 and 5.4, design 3.4).

The table itself is data: the settings have one row per priority with the score that activates and the score
from which the gate is asked. A topic's own file may override both (``activation_threshold``,
``similarity_threshold``). This module applies them in this order:

1. A manual switch wins.
2. A webhook or schedule that the topic subscribes to activates it; there is nothing to ask.
3. A tier-1 hit activates an ``auto`` topic, and one whose row says so (``critical``).
4. If only a match nominates, a topic without a hit is dropped.
5. With the ``calibrated`` preset the score is the probability that the topic applies, hits included, so only
   the two thresholds matter: active from the upper one, gate asked from the lower one.
6. With the ``spec`` preset the score is a similarity that ignores hits. A hit follows its row; the topic's
   own threshold raises the score from which the gate is asked, but never blocks a row that activates without
   it. Without a hit, a score at or above the threshold reaches the gate, even if the topic is ``auto``:
   similarity alone is not proof.
7. Everything else is dropped.

In the agent's output only a hit counts: a long answer is similar to whatever it was about.

A ``manual`` topic is judged like a gated one, but where that would be active or asked about, it is ``manual``
and left to the person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from engine.activation.numbers import format_threshold
from engine.activation.trace import TriggerHit
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

StepKind = Literal["activate", "ask", "drop", "manual", "off"]

EVENT_TYPES = frozenset({"webhook", "cron"})

NEGATED = "negated"
"""The rule for a topic that the message asks not to do."""
NOT_OFFERED = "not offered"
"""The rule when the agent is told of likelier topics instead."""
NOT_ASKED = "not asked"
"""The rule when a gate is asked about likelier topics instead, and the start of its reason if about none."""
NEAR_CHANCE = "near chance"
"""The rule of a probability without a hit that says little, as there are few topics to share it."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The two scores that separate dropped, asked about and active."""

    gate: float | None  # the score from which the gate is asked; ``None``: never
    activate: float | None
    """The score from which the topic activates without it; ``None``: never. At or below ``gate``, the gate is
    never asked."""


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to a topic after tiers 1 and 2."""

    kind: StepKind
    """``activate`` at once, ``ask`` the gate, ``drop``, leave it to the person (``manual``), or switched
    ``off`` by hand."""
    rule: str
    """The row that applied, as text: ``high ≥.30``, ``medium <.20``, ``critical``, ``auto``, ``event``,
    ``similar ≥.15``, ``own <.20``, ``no match``, ``manual``, ``forced on``, ``forced off``.
    """
    threshold: float
    activate_at: float | None = None
    """The score from which this row activates without the gate; ``None``: never."""
    gate_at: float | None = None  # the score from which this row asks the gate; ``None``: never

    @property
    def marks(self) -> tuple[float, ...]:
        """The scores that have an effect."""
        return tuple(mark for mark in (self.gate_at, self.activate_at) if mark is not None)


def threshold_of(topic: Topic, settings: WatcherSettings) -> float:
    """The tier-2 score from which a topic counts as similar."""
    if topic.similarity_threshold is not None:
        return topic.similarity_threshold
    return settings.threshold(topic.priority)


def thresholds_of(topic: Topic, settings: WatcherSettings, *, matched: bool) -> Thresholds:
    """The thresholds of a topic; its own file takes precedence over the table.

    Args:
        matched: Whether one of its triggers fired; this matters with the ``spec`` preset, and for a row that
            activates on a match.
    """
    row = settings.row(topic.priority)
    activate = row.activate if topic.activation_threshold is None else topic.activation_threshold
    if matched and row.matched is not None:
        activate = row.matched
    own = topic.similarity_threshold
    if settings.preset == "calibrated":
        gate = own
        if gate is None:
            gate = row.gate if settings.similarity_threshold is None else settings.similarity_threshold
        return Thresholds(gate, activate)
    if not matched:
        return Thresholds(threshold_of(topic, settings), None)
    if row.gate is None or own is None:
        return Thresholds(row.gate, activate)
    return Thresholds(max(row.gate, own), activate)


def decide(
    topic: Topic,
    hits: Sequence[TriggerHit],
    score: float,
    settings: WatcherSettings,
    *,
    is_input: bool = True,
) -> Step:
    """The step that the table prescribes.

    Args:
        score: The deciding tier-2 score, 0 to 1.
        is_input: Whether the message goes to the agent.
    """
    threshold = threshold_of(topic, settings)
    if topic.forced is not None:
        on = topic.forced
        return Step("activate" if on else "off", "forced on" if on else "forced off", threshold)
    step = _judge(topic, hits, score, settings, threshold, is_input=is_input)
    if topic.activation == "manual" and step.kind in ("activate", "ask"):
        return replace(step, kind="manual", rule="manual", activate_at=None, gate_at=None)
    return step


def _judge(
    topic: Topic,
    hits: Sequence[TriggerHit],
    score: float,
    settings: WatcherSettings,
    threshold: float,
    *,
    is_input: bool,
) -> Step:
    if any(hit.type in EVENT_TYPES for hit in hits):
        return Step("activate", "event", threshold, activate_at=0.0)
    if hits and topic.activation == "auto":
        return Step("activate", "auto", threshold, activate_at=0.0)
    if not hits and (not is_input or settings.nominate == "pattern"):
        return Step("drop", "no match", threshold)
    thresholds = thresholds_of(topic, settings, matched=bool(hits))
    if hits or settings.preset == "calibrated":
        return _row(topic, score, settings, threshold, thresholds)
    if score >= threshold and score > 0:
        return Step("ask", f"similar ≥{format_threshold(threshold)}", threshold, gate_at=threshold)
    return Step("drop", "no match", threshold, gate_at=threshold)


def _row(
    topic: Topic, score: float, settings: WatcherSettings, threshold: float, thresholds: Thresholds
) -> Step:
    gate_at, activate_at = thresholds.gate, thresholds.activate
    row, name = settings.row(topic.priority), topic.priority
    is_own = activate_at is not None and activate_at == topic.activation_threshold != row.activate
    owner = "own" if is_own else name
    if activate_at is not None and score >= activate_at:
        rule = owner if activate_at <= 0 else f"{owner} ≥{format_threshold(activate_at)}"
        return Step("activate", rule, threshold, activate_at, gate_at)
    if gate_at is not None and score >= gate_at:
        if activate_at is not None:
            rule = f"{owner} <{format_threshold(activate_at)}"
        else:
            rule = name if gate_at <= 0 else f"{name} ≥{format_threshold(gate_at)}"
        return Step("ask", rule, threshold, activate_at, gate_at)
    if gate_at is not None and gate_at == topic.similarity_threshold != row.gate:
        return Step("drop", f"own <{format_threshold(gate_at)}", threshold, activate_at, gate_at)
    lowest = min((mark for mark in (gate_at, activate_at) if mark is not None), default=None)
    rule = f"{name} never" if lowest is None else f"{name} <{format_threshold(lowest)}"
    return Step("drop", rule, threshold, activate_at, gate_at)
