"""Logged decisions for tuning tests, and the policy's own result for each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from engine.activation.decision import Decision
from engine.activation.policy import Thresholds, decide
from engine.activation.trace import TriggerHit
from engine.activation.tuning.own import own_thresholds
from engine.activation.tuning.table import DecisionTable
from engine.settings.model import PolicyRow, WatcherSettings
from engine.topics.model import Topic
from tests.activation.support import topic

CALIBRATED = WatcherSettings(
    preset="calibrated",
    policy={
        "critical": PolicyRow(activate=0.5, gate=0.1, matched=0.0),
        "high": PolicyRow(activate=0.55, gate=0.2),
        "medium": PolicyRow(activate=0.6, gate=0.25),
        "low": PolicyRow(activate=0.7, gate=0.3),
    },
)
"""With explicit thresholds, so that the cases do not depend on the defaults."""
SPEC = WatcherSettings(preset="spec")
START = datetime(2026, 2, 16, 8, tzinfo=UTC)


def decision(
    number: int,
    score: float | None,
    useful: bool | None = None,
    by: str = "person",
    *,
    about: str = "t",
    gate: tuple[str, str] = ("", ""),
    hits: Sequence[str] = (),
    message: str | None = None,
    signal: str = "probability",
    usd: float = 0.0,
    direction: str = "input",
    minutes: int | None = None,
) -> Decision:
    """One decision; ``gate`` is answer and provider, ``hits`` are types of triggers."""
    text = f"message {number}" if message is None else message
    at = START + timedelta(minutes=number if minutes is None else minutes)
    return Decision(
        id=hashlib.sha256(f"{number} {about}".encode()).hexdigest()[:16],
        at=at.isoformat(),
        session_id="s",
        direction=direction,
        message_hash=hashlib.sha256(text.encode()).hexdigest(),
        message=text,
        topic=about,
        priority="medium",
        activation="gated",
        hits=tuple((0, kind, "x", 0, 1) for kind in hits),
        scores={} if score is None else {signal: score},
        score=score or 0.0,
        threshold=0.25,
        activate_at=0.6,
        gate_at=0.25,
        rule="",
        verdict="dropped",
        gate_answer=gate[0],
        gate_provider=gate[1],
        gate_model="",
        gate_probability=None,
        gate_reason="",
        cached=False,
        latency_ms=0.0,
        cost_usd=usd,
        signals=(),
        useful=useful,
        labelled_by=by if useful is not None else "",
    )


def table_of(
    decisions: Iterable[Decision],
    *topics: Topic,
    settings: WatcherSettings = CALIBRATED,
) -> DecisionTable:
    """A table of decisions; without topics, for one of medium priority named ``t``."""
    return DecisionTable(tuple(decisions), topics or (topic("t"),), settings)


def series(scores: Iterable[float], useful: bool | None, start: int = 0) -> list[Decision]:
    """Decisions with these scores, all labelled the same."""
    return [decision(start + number, score, useful) for number, score in enumerate(scores)]


@dataclass(frozen=True)
class Judged:
    """The policy's result for one logged decision."""

    outcome: str
    chance: float
    """The probability that it is active."""
    useful: bool | None


def judge(table: DecisionTable, row: int, thresholds: Thresholds | None, settings: WatcherSettings) -> Judged:
    """Decide one row as the pipeline would with other thresholds in the file (the slow way)."""
    found = table.decision(row)
    known = table.topic(found.topic)
    if thresholds is not None:
        known = own_thresholds(known, settings, thresholds).on(known)
    hits = tuple(TriggerHit(0, str(kind), "x") for _, kind, *_ in found.hits)
    score = float(table.scores[row])
    step = decide(known, hits, score, settings, is_input=found.direction == "input")
    outcome = {"activate": "active", "ask": "asked"}.get(step.kind, "dropped")
    useful, _ = found.label
    return Judged(outcome, _chance(table, found, outcome, useful), useful)


def _chance(table: DecisionTable, found: Decision, outcome: str, useful: bool | None) -> float:
    if outcome != "asked":
        return float(outcome == "active")
    if found.gate_answer in ("yes", "no"):
        return float(found.gate_answer == "yes")
    trust = table.reliability
    return {True: trust.true_positive, False: trust.false_positive, None: 0.0}[useful]


def forced(name: str, on: bool) -> Topic:
    """A topic switched by a person."""
    return replace(topic(name), forced=on)
