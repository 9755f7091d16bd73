"""Logged decisions for tuning tests, and the policy's own result for each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from engine.activation.decisions import Decision
from engine.activation.policy import Thresholds, decide
from engine.activation.tuning.table import MessageTable, messages_in, own_thresholds
from engine.settings.model import PolicyRow, WatcherSettings
from engine.topics.model import Topic, Trigger, TriggerType
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
KINDS: tuple[TriggerType, ...] = ("pattern", "keywords", "webhook", "url")
TRIGGERS = tuple(Trigger(kind) for kind in KINDS)
"""One trigger of each kind that ``decision`` can have hits of."""
START = datetime(2026, 2, 16, 8, tzinfo=UTC)


def decision(
    number: int,
    score: float,
    useful: bool | None = None,
    by: str = "person",
    *,
    about: str = "t",
    gate: tuple[str, str] = ("", ""),
    hits: Sequence[TriggerType] = (),
    message: str | None = None,
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
        hits=tuple((KINDS.index(kind), kind, "x", 0, 1) for kind in hits),
        score=score,
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
        useful=useful,
        labelled_by=by if useful is not None else "",
    )


def table_of(
    decisions: Sequence[Decision],
    topics: Sequence[Topic] = (),
    settings: WatcherSettings = CALIBRATED,
    provider: str = "",
    *,
    held_out: bool = True,
) -> MessageTable:
    """A table of messages with the scores in their decisions; without topics, for one of medium priority
    named ``t``."""
    topics = topics or (topic("t", triggers=TRIGGERS),)
    messages = messages_in(decisions, {known.name: known for known in topics})
    scores = np.zeros((len(messages), len(topics)), dtype=np.float32)
    for column, name in enumerate(sorted(known.name for known in topics)):
        for row, message in enumerate(messages):
            found = message.decisions.get(name)
            scores[row, column] = found.score if found is not None else 0.0
    return MessageTable(decisions, messages, topics, settings, provider, scores, held_out=held_out)


def series(scores: Iterable[float], useful: bool | None, start: int = 0) -> list[Decision]:
    """Decisions with these scores, all labelled the same."""
    return [decision(start + number, score, useful) for number, score in enumerate(scores)]


def judge(
    table: MessageTable, row: int, name: str, thresholds: Thresholds | None, settings: WatcherSettings
) -> str:
    """Decide one message as the pipeline would with other thresholds in the file (the slow way)."""
    known = table.topics[name]
    if thresholds is not None:
        known = own_thresholds(known, settings, thresholds).on(known)
    message = table.messages[row]
    step = decide(
        known,
        message.hits.get(name, ()),
        round(float(table.scores[row, table.columns[name]]), 6),
        settings,
        is_input=message.direction == "input",
    )
    return {"activate": "active", "ask": "offered"}.get(step.kind, "quiet")


def forced(name: str, on: bool) -> Topic:
    """A topic switched by a person."""
    return replace(topic(name), forced=on)
