"""Why a topic is active or not, and what would have changed it: one sentence each, with the exact numbers.

With the ``spec`` preset a score is a similarity beside the trigger hits. With ``calibrated`` it is the
probability that the topic applies, and the sentence names the signals that made it.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.activation import gate_limit
from engine.activation.case import NOT_ASKED, Case, below, matches, reaches
from engine.activation.numbers import limit, written
from engine.activation.policy import UNPROVEN, Thresholds, thresholds_of
from engine.activation.trace import Direction, Funnel, GateOutcome, TopicTrace


def why(case: Case) -> str:
    """Why the verdict is what it is."""
    if case.topic.forced is not None:
        return "switched on by hand" if case.topic.forced else "switched off by hand"
    if case.unasked:
        return gate_limit.why(case)
    if case.gate is not None:
        return _of_asked(case, case.gate)
    if case.verdict == "manual":
        return f"only a person activates it; {_found(case)}"
    return _of_active(case) if case.verdict == "active" else _of_dropped(case)


def summary(rows: Sequence[TopicTrace], funnel: Funnel, direction: Direction, *, empty: bool) -> str:
    """One sentence about the whole trace."""
    names = [row.topic for row in rows if row.active]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"{len(names)} of {funnel.topics} topics active: {shown}"
    if empty:
        return "nothing active: the message is empty"
    if not funnel.topics:
        return "nothing active: there are no topics"
    return f"nothing active: {_nothing(rows, funnel, direction)}"


def _nothing(rows: Sequence[TopicTrace], funnel: Funnel, direction: Direction) -> str:
    failed = [row for row in rows if row.verdict == "failed"]
    if failed:
        reason = (failed[0].gate.reason if failed[0].gate else "") or "no answer"
        about = _counted(len(failed), "topic")
        silent = reason.startswith(NOT_ASKED)
        return (
            f"the gate was not asked about {about}" if silent else f"the gate failed for {about} ({reason})"
        )
    rejected = [row for row in rows if row.verdict == "rejected"]
    if rejected:
        return f"the gate said no to {_counted(len(rejected), 'topic')}"
    unasked = [row for row in rows if row.rule.startswith(NOT_ASKED)]
    if unasked:
        return f"the gate was not asked about {_counted(len(unasked), 'topic')} (gate.max_calls_per_message)"
    if funnel.tier1:
        nearest = _nearest([row for row in rows if row.hits])
        start = f"{_counted(funnel.tier1, 'topic')} matched, none passed its policy row"
        return f"{start}; the nearest, {nearest}" if nearest else start
    unproven = max((row for row in rows if row.rule == UNPROVEN), key=lambda row: row.score, default=None)
    if unproven is not None:
        return (
            f"no trigger matched, and the nearest topic, {unproven.topic}, is there by similarity only: "
            f"{written(unproven.score)}, which your labels have not proven yet"
        )
    nearest = _nearest([row for row in rows if row.score > 0]) if direction == "input" else ""
    return f"no trigger matched, and the nearest topic, {nearest}" if nearest else "no trigger matched"


def _of_asked(case: Case, gate: GateOutcome) -> str:
    found = _found(case)
    if gate.answer != "failed":
        return f"the gate ({_gate_name(gate)}) said {gate.answer}: {found}"
    if gate.reason.startswith(NOT_ASKED):
        reason = gate.reason[len(NOT_ASKED) :].lstrip(": ")
        outcome = "the gate was not asked" + (f" ({reason})" if reason else "")
    else:
        outcome = f"the gate failed ({gate.reason or 'no answer'})"
    if case.step.needs_yes and case.around.on_failure == "activate":
        return f"{outcome}, and without a match only its yes lets the topic in: {found}"
    start = "active, though " if case.verdict == "active" else ""
    return f"{start}{outcome} and gate.on_failure is {case.around.on_failure}: {found}"


def _of_active(case: Case) -> str:
    step, priority = case.step, case.topic.priority
    start = "active without the gate: "
    if step.rule == "event":
        return f"{start}it waits for {matches(case.hits)}"
    start += f"{case.matched}; " if case.hits else ""
    if step.rule == "auto":
        return f"{start}the topic is auto"
    if step.activate_at:
        name = "" if case.calibrated else "score "
        whose = case.whose(step.activate_at, otherwise="")
        standing = None if case.hits else case.alone.standing
        proven = "" if standing is None else f"; your labels have proven it ({standing})"
        return f"{start}{name}{reaches(case.score, step.activate_at)}{whose}{case.made_of}{proven}"
    if step.rule == "own":
        return f"{start}its own threshold needs no score"
    if case.hits and case.around.watchers.row(priority).matched == 0:
        return f"{start}with {priority} priority a match is enough"
    return f"{start}{priority} priority needs no score"


def _of_dropped(case: Case) -> str:
    around, priority = case.around, case.topic.priority
    if not case.hits and around.direction == "output":
        return "no trigger for the agent's output matched"
    if not case.hits and not around.similarity_nominates:
        return "no trigger matched, and only a match nominates"
    if case.step.rule == UNPROVEN:
        return _unproven(case)
    start = f"dropped: {case.matched}, but" if case.hits else "no trigger matched and"
    if case.lowest is None:
        return f"{start} the policy row {priority} lets nothing through"
    tabled = f" for {priority} priority" if case.hits or case.calibrated else ""
    return f"{start} {below(case.score, case.lowest)}{case.whose(case.lowest, tabled)}{case.made_of}"


def _unproven(case: Case) -> str:
    """Why a score that reaches its threshold decides nothing."""
    score = written(case.score, case.once_proven or 0.0)
    found = f"no trigger matched; {score} by similarity" + (f" ({case.signals})" if case.signals else "")
    if thresholds_of(case.topic, case.around.watchers, matched=False).activate is None:
        return f"{found}, and no score activates it without a yes, which the local gate alone cannot give"
    return f"{found}, which decides only once your labels have proven it right ({case.alone.standing})"


def _found(case: Case) -> str:
    """What spoke for a topic that is a candidate."""
    score, step = case.score, case.step
    if not case.calibrated:
        if not case.hits:
            return f"no trigger matched, but {reaches(score, step.threshold)}"
        return case.matched if case.verdict == "manual" else f"{case.matched}; score {written(score)}"
    thresholds = Thresholds(step.gate_at, step.activate_at)
    if case.verdict == "manual":
        thresholds = thresholds_of(case.topic, case.around.watchers, matched=bool(case.hits))
    marks = [mark for mark in (thresholds.gate, thresholds.activate) if mark is not None and mark > 0]
    reached = max((mark for mark in marks if mark <= score), default=None)
    missed = min((mark for mark in marks if mark > score), default=None)
    place = written(score, *marks)
    if reached is not None and missed is not None:
        place += f" lies between {limit(reached)} and {limit(missed)}"
    elif reached is not None:
        place += f" ≥ {limit(reached)}"
    elif missed is not None:
        place += f" < {limit(missed)}"
    start = f"{case.matched}; " if case.hits else "no trigger matched, but "
    return f"{start}{place}{case.made_of}"


def _nearest(rows: Sequence[TopicTrace]) -> str:
    """The row with the highest score below a threshold of its own, and that threshold; empty without one."""
    missed = [
        (row, min(marks))
        for row in rows
        if (marks := [mark for mark in (row.gate_at, row.activate_at) if mark and mark > row.score])
    ]
    if not missed:
        return ""
    row, mark = max(missed, key=lambda pair: pair[0].score)
    return f"{row.topic}, scored {below(row.score, mark)}"


def _gate_name(gate: GateOutcome) -> str:
    parts = [gate.provider]
    if gate.probability is not None:
        parts.append(written(gate.probability, 0.5))
    if gate.cached:
        parts.append("remembered")
    return ", ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
