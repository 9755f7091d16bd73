"""Explains in one sentence why a topic is active or not, with the exact numbers."""

from __future__ import annotations

from collections.abc import Sequence

from engine.activation.case import (
    NEAR_CHANCE,
    NEGATED,
    NOT_ASKED,
    NOT_OFFERED,
    Case,
    below,
    matches,
    negations,
    reaches,
)
from engine.activation.numbers import format_score, format_threshold
from engine.activation.policy import Thresholds, thresholds_of
from engine.activation.trace import Direction, Funnel, GateOutcome, TopicTrace


def why(case: Case) -> str:
    """Why the verdict is what it is."""
    if case.topic.forced is not None:
        return "switched on by hand" if case.topic.forced else "switched off by hand"
    if case.gate is not None:
        return _asked(case, case.gate)
    if case.verdict == "manual":
        return f"only by hand: {_evidence(case)}"
    return _active(case) if case.verdict == "active" else _dropped(case)


def summary(rows: Sequence[TopicTrace], funnel: Funnel, direction: Direction, *, empty: bool) -> str:
    """One sentence about the whole trace."""
    names = [row.topic for row in rows if row.active]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        topics = "topic" if funnel.topics == 1 else "topics"
        return f"{len(names)} of {funnel.topics} {topics} active: {shown}"
    if empty:
        return "nothing active: the message is empty"
    if not funnel.topics:
        return "nothing active: there are no topics"
    return f"nothing active: {_nothing(rows, funnel, direction)}"


def _nothing(rows: Sequence[TopicTrace], funnel: Funnel, direction: Direction) -> str:
    failed = [row for row in rows if row.verdict == "failed"]
    if failed:
        reason = (failed[0].gate.reason if failed[0].gate else "") or "no answer"
        topics = _counted(len(failed), "topic")
        if reason.startswith(NOT_ASKED):
            return f"the gate was not asked about {topics}"
        return f"the gate failed for {topics} ({reason})"
    offered = [row.topic for row in rows if row.offered]
    if offered:
        return f"offered to the agent: {', '.join(offered)}"
    rejected = [row for row in rows if row.verdict == "rejected"]
    if rejected:
        return f"the gate said no to {_counted(len(rejected), 'topic')}"
    if funnel.tier1:
        closest = _closest([row for row in rows if row.hits])
        return f"{_counted(funnel.tier1, 'topic')} matched, but none was activated{closest}"
    if negated := [hit for row in rows for hit in row.ignored]:
        return negations(negated)
    closest = _closest([row for row in rows if row.score > 0]) if direction == "input" else ""
    return f"no trigger matched{closest}"


def _asked(case: Case, gate: GateOutcome) -> str:
    evidence = _evidence(case)
    if gate.answer == "offered":
        return f"offered to the agent, which opens it if it applies: {evidence}"
    if gate.answer != "failed":
        return f"the gate ({_gate_label(gate)}) said {gate.answer}: {evidence}"
    if gate.reason.startswith(NOT_ASKED):
        reason = gate.reason[len(NOT_ASKED) :].lstrip(": ")
        outcome = "the gate was not asked" + (f" ({reason})" if reason else "")
    else:
        outcome = f"the gate failed ({gate.reason or 'no answer'})"
    start = "active, although " if case.verdict == "active" else ""
    conjunction = "because" if case.verdict == "active" else "and"
    return f"{start}{outcome}, {conjunction} gate.on_failure is {case.context.on_failure}: {evidence}"


def _active(case: Case) -> str:
    step, priority = case.step, case.topic.priority
    start = "active without the gate: "
    if step.rule == "event":
        return f"{start}triggered by {matches(case.hits)}"
    start += f"{case.matched}; " if case.hits else ""
    if step.rule == "auto":
        return f"{start}the topic is auto"
    if step.activate_at:
        source = case.threshold_source(step.activate_at)
        return f"{start}{reaches(case.score, step.activate_at)}{source}{case.from_signals}"
    if step.rule == "own":
        return f"{start}its own threshold needs no score"
    if case.hits and case.context.watchers.row(priority).matched == 0:
        return f"{start}a match is enough at {priority} priority"
    return f"{start}{priority} priority needs no score"


def _dropped(case: Case) -> str:
    context, priority = case.context, case.topic.priority
    if case.step.rule == NEGATED:
        return f"{negations(case.ignored)}, so it does not count"
    if not case.hits and context.direction == "output":
        return "no trigger for the agent's output matched"
    if not case.hits and not context.similarity_nominates:
        return "no trigger matched, and only a match nominates (watchers.nominate: pattern)"
    if case.step.rule in (NOT_OFFERED, NOT_ASKED):
        start = "not offered to the agent" if case.context.offers else "the gate was not asked"
        return f"{start}, as others are likelier: {_evidence(case)}"
    if case.step.rule == NEAR_CHANCE:
        score = format_score(case.score)
        return f"no trigger matched, and score {score} is near chance among so few topics{case.from_signals}"
    start = f"dropped: {case.matched}, but" if case.hits else "no trigger matched, and"
    if case.lowest is None:
        return f"{start} watchers.policy.{priority} sets no threshold"
    from_table = f" for {priority} priority" if case.hits or case.calibrated else ""
    source = case.threshold_source(case.lowest, from_table)
    return f"{start} {below(case.score, case.lowest)}{source}{case.from_signals}"


def _evidence(case: Case) -> str:
    """The match and the score of a candidate, compared with its thresholds."""
    score, step = case.score, case.step
    thresholds = Thresholds(step.gate_at, step.activate_at)
    if case.verdict == "manual":
        thresholds = thresholds_of(case.topic, case.context.watchers, matched=bool(case.hits))
    marks = [mark for mark in (thresholds.gate, thresholds.activate) if mark is not None and mark > 0]
    reached = max((mark for mark in marks if mark <= score), default=None)
    missed = min((mark for mark in marks if mark > score), default=None)
    if reached is not None and missed is not None:
        between = f"between {format_threshold(reached)} and {format_threshold(missed)}"
        place = f"score {format_score(score, *marks)} is {between}"
    elif reached is not None:
        place = reaches(score, reached)
    elif missed is not None:
        place = below(score, missed)
    else:
        place = f"score {format_score(score)}"
    start = f"{case.matched}; " if case.hits else "no trigger matched, but "
    return f"{start}{place}{case.from_signals}"


def _closest(rows: Sequence[TopicTrace]) -> str:
    """``; closest: deploy, score .17 < .25``, of the rows that missed a threshold; empty without one."""
    missed = [
        (row, min(marks))
        for row in rows
        if (marks := [mark for mark in (row.gate_at, row.activate_at) if mark and mark > row.score])
    ]
    if not missed:
        return ""
    row, mark = max(missed, key=lambda pair: pair[0].score)
    return f"; closest: {row.topic}, {below(row.score, mark)}"


def _gate_label(gate: GateOutcome) -> str:
    parts = [gate.provider]
    if gate.probability is not None:
        parts.append(format_score(gate.probability, 0.5))
    if gate.cached:
        parts.append("cached")
    return ", ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
