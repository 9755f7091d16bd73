"""What would have changed a verdict.

Another score, a missing match, a switch taken back: each is found out by asking the policy again. Where the
answer cannot be known, nothing is said.
"""

from __future__ import annotations

import math
from dataclasses import replace

from engine.activation import gate_limit
from engine.activation.case import Case, reaches
from engine.activation.numbers import limit, written
from engine.activation.policy import UNPROVEN, Step, decide, thresholds_of
from engine.activation.trace import GateOutcome

TRIGGER_SIGNAL = "trigger"
"""Name under which the tier-1 hits stand among a topic's contributions."""


def flip(case: Case) -> str:
    """What would have changed the verdict; empty where nothing short of another message would."""
    if case.topic.forced is not None:
        freed = replace(case.topic, forced=None)
        step = case.otherwise(freed, case.hits, case.score, case.around.watchers)
        return f"without the switch {_outcome(step, case.score)}"
    if case.unasked:
        return gate_limit.flip(case)
    if case.gate is not None:
        return _of_asked(case, case.gate)
    if case.verdict == "manual":
        return "switch it on by hand, or set activation: gated"
    return _of_active(case) if case.verdict == "active" else _of_dropped(case)


def without(score: float, weight: float) -> float | None:
    """A probability with one contribution taken out of it.

    Args:
        weight: What the contribution did to its log-odds, nats.

    Returns:
        The probability without it; ``None`` at 0 and 1, whose log-odds are endless.
    """
    if not 0 < score < 1:
        return None
    odds = math.log(score / (1 - score)) - weight
    small = math.exp(-abs(odds))
    return small / (1 + small) if odds < 0 else 1 / (1 + small)


def _of_active(case: Case) -> str:
    step = case.step
    if step.rule not in ("event", "auto") and step.activate_at:
        asked = step.gate_at is not None and step.gate_at < step.activate_at
        result = "the gate would be asked" if asked else "it would be dropped"
        threshold = f"below {limit(step.activate_at)} {result}"
        return _joined(threshold, _without_match(case) if case.calibrated and case.hits else "")
    if case.hits:
        return _without_match(case)
    if step.rule == "own":
        return "a higher activation_threshold in the topic's file would hold it back"
    return f"a higher score to activate in watchers.policy.{case.topic.priority} would hold it back"


def _of_asked(case: Case, gate: GateOutcome) -> str:
    if gate.answer == "failed":
        if case.step.needs_yes:
            return "an answer would decide"
        other = "skip" if case.verdict == "active" else "activate"
        result = "leave it out" if case.verdict == "active" else "let it in"
        return f"an answer would decide; gate.on_failure: {other} would {result}"
    if gate.answer == "yes":
        no = "a no from the gate would have kept it out"
        return _joined(no, _without_match(case) if case.calibrated and case.hits else "")
    return _past(case) or "a yes from the gate would have activated it"


def _of_dropped(case: Case) -> str:
    topic, step, score = case.topic, case.step, case.score
    if not case.hits and not case.around.similarity_nominates:
        return _of_unmatched(case)
    if case.once_proven is not None and step.gate_at is None:
        return _of_unproven(case)
    gate_at, activate_at = step.gate_at, step.activate_at
    asks = gate_at is not None and gate_at > score and (activate_at is None or gate_at < activate_at)
    marks = ([("reach the gate", gate_at)] if asks else []) + [("activate", activate_at)]
    missed = [(does, mark) for does, mark in marks if mark is not None and mark > score]
    if topic.activation == "manual":
        missed = [("wait for a person", mark) for _does, mark in missed[:1]]
    if missed:
        would = " and ".join([f"{does} at ≥ {limit(mark)}" for does, mark in missed])
        now = written(score, *[mark for _does, mark in missed])
        return _joined(f"would {would}; now {now}", _matching(case))
    if gate_at is not None and not case.hits:
        does = "wait for a person" if topic.activation == "manual" else "reach the gate"
        return _joined(f"would {does} at any score above 0", _matching(case))
    return f"a score to activate or to ask in watchers.policy.{topic.priority} would let it through"


def _of_unmatched(case: Case) -> str:
    """Of a topic without a match where only a match counts."""
    around, score = case.around, case.score
    if around.direction == "output":
        return "a trigger with scope output or both would have to match"
    step = case.otherwise(case.topic, (), score, replace(around.watchers, nominate="either"))
    setting = "watchers.nominate: either would"
    if step.kind == "activate":
        return f"{setting} activate it, as {reaches(score, step.activate_at or 0.0)}"
    if step.kind == "ask":
        return f"{setting} ask the gate, as {reaches(score, step.gate_at or 0.0)}"
    return "a trigger would have to match"


def _of_unproven(case: Case) -> str:
    """Of a topic without a match whose score labels have not proven, where the gate is not asked."""
    if case.step.rule != UNPROVEN:
        return _matching(case) or "a trigger would have to match"
    step = decide(case.topic, (), case.score, case.around.watchers)
    does = "activate it" if step.kind == "activate" else "ask the gate"
    return _joined(
        "a match would activate it, or a yes of a gate that is a model or a person",
        f"watchers.similarity_alone: always would {does}",
    )


def _without_match(case: Case) -> str:
    """What would have happened had no trigger fired; empty where that cannot be known."""
    around, score = case.around, case.score
    start = f"without the {'event' if case.step.rule == 'event' else 'match'} "
    if not around.similarity_nominates:
        return f"{start}it would be dropped"
    if not case.calibrated:
        return start + _outcome(case.otherwise(case.topic, (), score, around.watchers), score)
    weights = [each.weight for each in case.contributions if each.signal == TRIGGER_SIGNAL]
    left = without(score, sum(weights)) if weights else None
    if left is None:
        return ""
    step = case.otherwise(case.topic, (), left, around.watchers)
    marks = [mark for mark in (step.gate_at, step.activate_at) if mark is not None]
    active = "still active" if case.gate is None else "active without the gate"
    dropped = "dropped" + (", as labels have not proven scores alone" if step.rule == UNPROVEN else "")
    outcome = {"activate": active, "ask": "the gate would be asked"}.get(step.kind, dropped)
    return f"{start}it would be at about {written(left, *marks)}: {outcome}"


def _outcome(step: Step, score: float) -> str:
    if step.kind == "activate":
        return "it would be active" + (f": {reaches(score, step.activate_at)}" if step.activate_at else "")
    if step.kind == "ask":
        return "the gate would be asked" + (f": {reaches(score, step.gate_at)}" if step.gate_at else "")
    return "it would wait for a person" if step.kind == "manual" else "it would be dropped"


def _matching(case: Case) -> str:
    """That a match alone would do, where one is possible and it would."""
    topic, around = case.topic, case.around
    if case.hits or topic.activation == "manual":
        return ""
    mark = thresholds_of(topic, around.watchers, matched=True).activate
    if topic.activation != "auto" and (mark is None or mark > 0):
        return ""
    possible = any(trigger.scope in (around.direction, "both") for trigger in topic.triggers)
    return "a match would activate it" if possible else ""


def _past(case: Case) -> str:
    mark, score = case.step.activate_at, case.score
    if mark is None or score >= mark:
        return ""
    return f"would activate without the gate at ≥ {limit(mark)}; now {written(score, mark)}"


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
