"""What would have changed a verdict: another score, no match, no manual switch.

Each answer is computed by applying the policy again. An answer that cannot be known is left out.
"""

from __future__ import annotations

import math
from dataclasses import replace

from engine.activation.case import NEAR_CHANCE, NEGATED, NOT_ASKED, NOT_OFFERED, Case, reaches
from engine.activation.numbers import format_score, format_threshold
from engine.activation.policy import Step, thresholds_of
from engine.activation.trace import GateOutcome

TRIGGER_SIGNAL = "trigger"
"""Name of the tier-1 hits among a topic's contributions."""


def flip(case: Case) -> str:
    """What would have changed the verdict; empty if only another message would."""
    if case.topic.forced is not None:
        freed = replace(case.topic, forced=None)
        step = case.decide(freed, case.hits, case.score, case.context.watchers)
        return f"without the switch {_outcome(case, step, case.score)}"
    if case.gate is not None:
        return _asked(case, case.gate)
    if case.verdict == "manual":
        return "switch it on by hand, or set activation: gated"
    return _active(case) if case.verdict == "active" else _dropped(case)


def without(score: float, weight: float) -> float | None:
    """A probability without one contribution.

    Args:
        weight: The contribution to the log-odds, in nats.

    Returns:
        The remaining probability; ``None`` at 0 and 1, where the log-odds are infinite.
    """
    if not 0 < score < 1:
        return None
    odds = math.log(score / (1 - score)) - weight
    small = math.exp(-abs(odds))
    return small / (1 + small) if odds < 0 else 1 / (1 + small)


def _active(case: Case) -> str:
    step = case.step
    if step.rule not in ("event", "auto") and step.activate_at:
        asked = step.gate_at is not None and step.gate_at < step.activate_at
        result = _uncertain(case) if asked else "it would be dropped"
        threshold = f"below {format_threshold(step.activate_at)} {result}"
        return _joined(threshold, _without_match(case) if case.calibrated and case.hits else "")
    if case.hits:
        return _without_match(case)
    if step.rule == "own":
        return "a higher activation_threshold in the topic's file would stop it"
    return f"a higher activate in watchers.policy.{case.topic.priority} would stop it"


def _asked(case: Case, gate: GateOutcome) -> str:
    if gate.answer == "failed":
        other, outcome = ("skip", "dropped") if case.verdict == "active" else ("activate", "active")
        return f"an answer would decide; with gate.on_failure: {other} it would be {outcome}"
    if gate.answer == "offered":
        upper = case.step.activate_at
        if upper is None:
            return "only a yes from a gate that answers would activate it"
        return f"would activate at ≥ {format_threshold(upper)}; now {format_score(case.score, upper)}"
    if gate.answer == "yes":
        no = "a no from the gate would have kept it out"
        return _joined(no, _without_match(case) if case.calibrated and case.hits else "")
    mark, score = case.step.activate_at, case.score
    if mark is not None and score < mark:
        return (
            f"would activate without the gate at ≥ {format_threshold(mark)}; now {format_score(score, mark)}"
        )
    return "a yes from the gate would have activated it"


def _dropped(case: Case) -> str:
    topic, step, score = case.topic, case.step, case.score
    if step.rule == NEAR_CHANCE:
        return _with_match(case) or "a higher score would count"
    if step.rule in (NOT_OFFERED, NOT_ASKED):
        upper = step.activate_at
        if upper is None:
            return "a yes from a gate that answers would activate it"
        return f"would activate at ≥ {format_threshold(upper)}; now {format_score(score, upper)}"
    if step.rule == NEGATED:
        return f"without “{case.ignored[0].negated}” it would match"
    if not case.hits and not case.context.similarity_nominates:
        return _unmatched(case)
    gate_at, activate_at = step.gate_at, step.activate_at
    asks = gate_at is not None and gate_at > score and (activate_at is None or gate_at < activate_at)
    reach = "be uncertain" if case.context.offers else "reach the gate"
    marks = ([(reach, gate_at)] if asks else []) + [("activate", activate_at)]
    missed = [(effect, mark) for effect, mark in marks if mark is not None and mark > score]
    is_manual = topic.activation == "manual"
    if missed:
        if is_manual:
            missed = [("wait for a person", missed[0][1])]
        would = " and ".join([f"{effect} at ≥ {format_threshold(mark)}" for effect, mark in missed])
        now = format_score(score, *[mark for _effect, mark in missed])
        return _joined(f"would {would}; now {now}", _with_match(case))
    if gate_at is not None and not case.hits:
        effect = "wait for a person" if is_manual else reach
        return _joined(f"would {effect} at any score above 0", _with_match(case))
    return f"set activate or gate in watchers.policy.{topic.priority} to let it through"


def _unmatched(case: Case) -> str:
    """For a topic without a match where only a match counts."""
    context, score = case.context, case.score
    if context.direction == "output":
        return "a trigger with scope output or both would have to match"
    step = case.decide(case.topic, (), score, replace(context.watchers, nominate="either"))
    if step.kind in ("activate", "ask"):
        return f"with watchers.nominate: either {_outcome(case, step, score)}"
    return "a trigger would have to match"


def _without_match(case: Case) -> str:
    """What would have happened if no trigger had fired; empty if unknown."""
    context, score = case.context, case.score
    start = f"without the {'event' if case.step.rule == 'event' else 'match'} "
    if not context.similarity_nominates:
        return f"{start}it would be dropped"
    if not case.calibrated:
        return start + _outcome(case, case.decide(case.topic, (), score, context.watchers), score)
    weights = [each.weight for each in case.contributions if each.signal == TRIGGER_SIGNAL]
    left = without(score, sum(weights)) if weights else None
    if left is None:
        return ""
    step = case.decide(case.topic, (), left, context.watchers)
    marks = [mark for mark in (step.gate_at, step.activate_at) if mark is not None]
    active = "still active" if case.gate is None else "active without the gate"
    outcome = {"activate": active, "ask": _uncertain(case)}.get(step.kind, "dropped")
    return f"{start}it would score about {format_score(left, *marks)}: {outcome}"


def _outcome(case: Case, step: Step, score: float) -> str:
    if step.kind == "activate":
        return "it would be active" + (f": {reaches(score, step.activate_at)}" if step.activate_at else "")
    if step.kind == "ask":
        return _uncertain(case) + (f": {reaches(score, step.gate_at)}" if step.gate_at else "")
    return "it would wait for a person" if step.kind == "manual" else "it would be dropped"


def _uncertain(case: Case) -> str:
    """What would happen to the topic between its thresholds."""
    return "it might be offered to the agent" if case.context.offers else "the gate would be asked"


def _with_match(case: Case) -> str:
    """``a match would activate it`` if that is possible and true; else empty."""
    topic, context = case.topic, case.context
    if case.hits or topic.activation == "manual":
        return ""
    mark = thresholds_of(topic, context.watchers, matched=True).activate
    if topic.activation != "auto" and (mark is None or mark > 0):
        return ""
    possible = any(trigger.scope in (context.direction, "both") for trigger in topic.triggers)
    return "a match would activate it" if possible else ""


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
