"""The topics considered for a message: what tiers 1 and 2 found, the next step, and their rows in a trace
(spec 10.2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.activation.explain import Candidate, PolicyContext, explained
from engine.activation.policy import NEAR_CHANCE, NEGATED, NOT_ASKED, NOT_OFFERED, Step
from engine.activation.signals import CALIBRATED
from engine.activation.similarity import Explanation, Hits
from engine.activation.trace import (
    Correction,
    Direction,
    Funnel,
    GateOutcome,
    Span,
    TopicTrace,
    Trace,
    TriggerHit,
)

if TYPE_CHECKING:
    from engine.topics.model import Topic

OFFERING = "agent"
"""The gate that answers nothing: it has the agent told of what may apply."""
LIKELIEST = 2
"""Maximum number of topics that an agent is told of with one message, or a model or person is asked about."""
ABOVE_CHANCE = 1.2
"""Times the probability of a topic taken at random that one without a hit needs to have any effect."""
LIKELY = 0.5
"""Probability from which it has one however few topics there are."""

EXPLAINED_ROWS = 20
"""Number of topics closest to a message whose scores are explained, besides those that it reached."""
ROWS_LIMIT = 500
"""Up to this many topics, every topic has a row."""
NEAREST_ROWS = 50
"""Rows kept beyond that for their score alone."""

_UNEXPLAINED = Explanation()


def counted_hits(hits_of: Hits) -> dict[str, tuple[TriggerHit, ...]]:
    """The hits that are not negated, by topic; topics without one are left out."""
    counted = {name: tuple(hit for hit in hits if not hit.negated) for name, hits in hits_of.items()}
    return {name: hits for name, hits in counted.items() if hits}


def candidates_of(
    topics: Sequence[Topic],
    counted: Mapping[str, tuple[TriggerHit, ...]],
    scores: Mapping[str, float],
    context: PolicyContext,
    hits_of: Hits,
) -> tuple[Candidate, ...]:
    """Every topic with its next step, in order.

    Args:
        hits_of: All hits, among them the negated ones.
    """
    found = []
    # Of thousands of topics nearly all are far from a message; those of one kind share that step, which holds
    # up to its lowest mark.
    far: dict[object, tuple[Step, float]] = {}
    for topic in topics:
        hits = counted.get(topic.name, ())
        score = scores.get(topic.name, 0.0)
        own = topic.activation, topic.activation_threshold, topic.similarity_threshold
        kind = topic.priority, topic.forced, own
        if kind not in far:
            step = context.decide(topic, (), 0.0)
            far[kind] = step, min(step.marks, default=math.inf)
        step, mark = far[kind]
        if hits or score >= mark:
            step = context.decide(topic, hits, score)
        ignored = tuple(hit for hit in hits_of.get(topic.name, ()) if hit.negated)
        if ignored and not hits and topic.forced is None:
            step = Step("drop", NEGATED, step.threshold)
        found.append(Candidate(topic, hits, score, step, context, ignored))
    return tuple(found)


def above_chance(candidates: Sequence[Candidate], deciding: str) -> tuple[Candidate, ...]:
    """The candidates, without those near chance: among few topics, each gets much of the probability.

    Only for a gate that answers nothing: another can tell.
    """
    if deciding != CALIBRATED:
        return tuple(candidates)
    least = min(LIKELY, ABOVE_CHANCE / (len(candidates) + 1))
    found = []
    for each in candidates:
        step = each.step
        by_score = step.kind == "ask" or (step.kind == "activate" and step.activate_at)
        if by_score and not each.hits and each.score < least:
            # With the thresholds that hold for it.
            marks = (None if at is None else max(at, least) for at in (step.activate_at, step.gate_at))
            each = replace(each, step=Step("drop", NEAR_CHANCE, step.threshold, *marks))
        found.append(each)
    return tuple(found)


def likeliest(candidates: Sequence[Candidate], *, offers: bool, deciding: str) -> tuple[Candidate, ...]:
    """The candidates, of which only the ``LIKELIEST`` most probable uncertain ones still are.

    Only for a gate whose questions cost something. Where the score is a similarity, a hit counts first.
    """
    uncertain = [each for each in candidates if each.step.kind == "ask"]
    by_hit = deciding != CALIBRATED and not offers
    uncertain.sort(key=lambda each: (by_hit and not each.hits, -each.score, each.topic.name))
    left_out = {each.topic.name for each in uncertain[LIKELIEST:]}
    rule = NOT_OFFERED if offers else NOT_ASKED
    return tuple(
        replace(each, step=replace(each.step, kind="drop", rule=rule))
        if each.topic.name in left_out
        else each
        for each in candidates
    )


def worth_explaining(candidates: Sequence[Candidate]) -> list[str]:
    """The names of the topics that the message reached and of those closest to it; may repeat a name."""
    near = sorted((c for c in candidates if c.score > 0), key=lambda c: (-c.score, c.topic.name))
    reached = [c.topic.name for c in candidates if c.hits or c.step.kind != "drop"]
    return [*reached, *(c.topic.name for c in near[:EXPLAINED_ROWS])]


def rows_of(
    candidates: Sequence[Candidate],
    outcome_of: Mapping[str, GateOutcome],
    explanations: Mapping[str, Explanation],
) -> tuple[TopicTrace, ...]:
    """The rows of a trace: active topics first, then offered ones, then by score and name."""
    rows = []
    for each in shown(candidates):
        name = each.topic.name
        found = explanations.get(name, _UNEXPLAINED)
        outcome = replace(each, gate=outcome_of.get(name), contributions=found.contributions)
        rows.append(row_of(outcome, found.words))
    return tuple(sorted(rows, key=lambda row: (not row.active, not row.offered, -row.score, row.topic)))


def shown(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """The candidates that have a row: all, or beyond ``ROWS_LIMIT`` those with any evidence, those switched
    by hand, and the ``NEAREST_ROWS`` closest others.
    """
    if len(candidates) <= ROWS_LIMIT:
        return candidates
    nearest = sorted(candidates, key=lambda c: (-c.score, c.topic.name))[:NEAREST_ROWS]
    kept = {c.topic.name for c in nearest}
    return [
        c
        for c in candidates
        if c.hits
        or c.ignored
        or c.topic.forced is not None
        or c.step.kind != "drop"
        or c.is_similar
        or c.topic.name in kept
    ]


def row_of(found: Candidate, words: tuple[Span, ...] = ()) -> TopicTrace:
    """The row of a topic with the words that tier 2 counted in its favour."""
    topic, step = found.topic, found.step
    why, flip = explained(found)
    return TopicTrace(
        topic=topic.name,
        priority=topic.priority,
        activation=topic.activation,
        hits=found.hits,
        score=found.score,
        threshold=step.threshold,
        activate_at=step.activate_at,
        gate_at=step.gate_at,
        rule=step.rule,
        gate=found.gate,
        verdict=found.verdict,
        why=why,
        flip=flip,
        contributions=found.contributions,
        words=words,
        ignored=found.ignored,
    )


def funnel_of(
    candidates: Sequence[Candidate], rows: Sequence[TopicTrace], direction: Direction, *, asked: int
) -> Funnel:
    """Number of topics left by each tier; similarity nominates nothing in the agent's output."""
    return Funnel(
        topics=len(candidates),
        tier1=sum(1 for c in candidates if c.hits),
        tier2=sum(1 for c in candidates if c.hits or (direction == "input" and c.is_similar)),
        asked=asked,
        active=sum(1 for row in rows if row.active),
    )


def with_openings(trace: Trace, opened: Mapping[str, bool | None]) -> Trace:
    """A trace that says whether the agent opened the topics that it was offered.

    Args:
        opened: By file, without those it was not told of; ``None`` if it is not known yet.
    """
    known = {PurePosixPath(path).stem: state for path, state in opened.items() if state is not None}
    words = {True: "the agent opened it", False: "the agent did not open it"}
    return replace(
        trace,
        rows=tuple(
            replace(row, gate=replace(row.gate, reason=words[known[row.topic]]))
            if row.gate is not None and row.offered and row.topic in known
            else row
            for row in trace.rows
        ),
    )


def corrections_of(topics: Sequence[Topic], rows: Sequence[TopicTrace]) -> tuple[Correction, ...]:
    """The hints of triggers that an agent's message fired (spec 4.3): each once, with its first match.

    Not those of topics that a person keeps off, leaves to be switched on, or the gate rejected. A topic
    dropped by its policy row still gives its hint: the pattern was written for exactly this text, and a hint
    is one line, not a playbook.
    """
    triggers = {topic.name: topic.triggers for topic in topics}
    hints: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: row.topic):
        if row.verdict in ("off", "rejected") or (row.activation == "manual" and not row.active):
            continue
        for hit in row.hits:
            if hint := triggers[row.topic][hit.trigger].correction_hint:
                hints.setdefault((row.topic, hint), hit.matched)
    return tuple(Correction(name, hint, matched) for (name, hint), matched in hints.items())
