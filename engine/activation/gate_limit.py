"""Candidates that the gate is not asked about because a message may cost only so many calls.

The gate is asked about the candidates whose scores are closest to the middle between their two thresholds,
where a score says least and an answer changes most. That middle alone decides about the others, and their
rows say so.
"""

from __future__ import annotations

from dataclasses import replace

from engine.activation.case import NOT_ASKED, Case, below, reaches
from engine.activation.numbers import format_threshold
from engine.activation.policy import Step

_SETTING = "gate.max_calls_per_message"


def middle(step: Step) -> float | None:
    """The score halfway between a candidate's thresholds; ``None`` if only the gate activates it."""
    return None if step.activate_at is None else ((step.gate_at or 0.0) + step.activate_at) / 2


def distance(step: Step, score: float) -> float:
    """How far a score is from the middle between the thresholds, 0 to 1; from 1 if no score activates.

    The gate is asked about the closest candidates first; of those that no score activates, these are the
    ones with the highest scores.
    """
    halfway = middle(step)
    return 1.0 - score if halfway is None else abs(score - halfway)


def unasked(step: Step, score: float) -> Step:
    """The step of a candidate that is not asked about: active from the middle of its thresholds up."""
    halfway = middle(step)
    active = halfway is not None and score >= halfway
    return replace(step, kind="activate" if active else "drop", rule=NOT_ASKED)


def why(case: Case) -> str:
    """Why a candidate that was not asked about is active or not."""
    halfway, score = middle(case.step), case.score
    if halfway is None:
        reason = "no score activates it without the gate"
    else:
        compared = reaches(score, halfway) if score >= halfway else below(score, halfway)
        reason = f"{compared}, midway between its thresholds"
    matched = f"; {case.matched}" if case.matched else ""
    return (
        f"{case.verdict} without asking the gate ({_SETTING} is {case.context.calls}): "
        f"{reason}{matched}{case.from_signals}"
    )


def flip(case: Case) -> str:
    """What would have changed the verdict of a candidate that was not asked about."""
    halfway = middle(case.step)
    asked = f"with a higher {_SETTING} the gate would be asked"
    if halfway is None:
        return asked
    if case.score >= halfway:
        return f"{asked}; without, it would be dropped below {format_threshold(halfway)}"
    return f"{asked}; without, it would be active at ≥ {format_threshold(halfway)}"
