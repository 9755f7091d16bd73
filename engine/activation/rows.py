"""Builds the rows and figures of a trace from candidates and gate outcomes (spec 10.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.activation.explain import Case, PolicyContext, flip, why
from engine.activation.similarity import Explanation
from engine.activation.trace import Correction, Direction, Funnel, GateOutcome, TopicTrace, Trace, Verdict

if TYPE_CHECKING:
    from engine.activation.candidates import Candidate
    from engine.activation.policy import Step

ROWS_LIMIT = 500
"""Up to this many topics, every topic has a row."""
NEAREST_ROWS = 50
"""Rows kept beyond that for their score alone."""

_UNEXPLAINED = Explanation()


def rows_of(
    candidates: Sequence[Candidate],
    outcome_of: Mapping[str, GateOutcome],
    explained: Mapping[str, Explanation],
    context: PolicyContext,
) -> tuple[TopicTrace, ...]:
    """The rows of a trace: active topics first, then offered ones, then by score and name."""
    rows = [
        row_of(
            candidate,
            outcome_of.get(candidate.topic.name),
            explained.get(candidate.topic.name, _UNEXPLAINED),
            context,
        )
        for candidate in shown(candidates)
    ]
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


def row_of(
    candidate: Candidate,
    gate: GateOutcome | None,
    explanation: Explanation,
    context: PolicyContext,
) -> TopicTrace:
    topic, step = candidate.topic, candidate.step
    verdict = verdict_of(step, gate, context.on_failure)
    case = Case(
        topic,
        candidate.hits,
        candidate.score,
        step,
        gate,
        verdict,
        context,
        explanation.contributions,
        candidate.ignored,
    )
    return TopicTrace(
        topic=topic.name,
        priority=topic.priority,
        activation=topic.activation,
        hits=candidate.hits,
        scores=candidate.scores,
        score=candidate.score,
        threshold=step.threshold,
        activate_at=step.activate_at,
        gate_at=step.gate_at,
        rule=step.rule,
        gate=gate,
        verdict=verdict,
        why=why(case),
        flip=flip(case),
        contributions=explanation.contributions,
        words=explanation.words,
        ignored=candidate.ignored,
    )


def verdict_of(step: Step, gate: GateOutcome | None, on_failure: str) -> Verdict:
    if gate is not None:
        if gate.answer == "failed":
            return "active" if on_failure == "activate" else "failed"
        if gate.answer == "offered":
            return "offered"
        return "active" if gate.answer == "yes" else "rejected"
    match step.kind:
        case "activate":
            return "active"
        case "manual":
            return "manual"
        case "off":
            return "off"
        case _:
            return "dropped"


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


def effective_corrections(
    corrections: Sequence[Correction], rows: Sequence[TopicTrace]
) -> tuple[Correction, ...]:
    """The hints to give: not those of topics that a person keeps off or the gate rejected.

    A topic dropped by its policy row still gives its hint: the pattern was written for exactly this text, and
    a hint is one line, not a playbook.
    """
    effective = {row.topic for row in rows if row.verdict not in ("off", "manual", "rejected")}
    return tuple(correction for correction in corrections if correction.topic in effective)
