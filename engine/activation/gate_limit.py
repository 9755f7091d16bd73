"""Candidates that the gate is not asked about, because a message may cost only so many calls.

Asked about are those whose score lies nearest to the middle between their two thresholds: there a score says
least, and an answer changes most. What is left over is decided by that middle alone, and its row says so.
"""

from __future__ import annotations

from dataclasses import replace

from engine.activation.case import NOT_ASKED, Case, below, reaches
from engine.activation.numbers import limit
from engine.activation.policy import Step

_SETTING = "gate.max_calls_per_message"


def middle(step: Step) -> float | None:
    """The score halfway between a candidate's thresholds; ``None`` where only the gate activates it."""
    return None if step.activate_at is None else ((step.gate_at or 0.0) + step.activate_at) / 2


def distance(step: Step, score: float) -> float:
    """How far a score is from the middle between the thresholds, 0 to 1; where no score activates, from 1.

    The least distant candidates are asked about first. Among candidates that no score activates, those are
    the ones with the highest scores.
    """
    halfway = middle(step)
    return 1.0 - score if halfway is None else abs(score - halfway)


def unasked(step: Step, score: float) -> Step:
    """The step of a candidate that is not asked about: active from the middle of its thresholds on."""
    halfway = middle(step)
    active = halfway is not None and score >= halfway
    return replace(step, kind="activate" if active else "drop", rule=NOT_ASKED)


def why(case: Case) -> str:
    """Why a candidate that was not asked about is active or not."""
    halfway = middle(case.step)
    if halfway is None:
        verdict = "dropped, as no score activates it without the gate"
    elif case.score >= halfway:
        verdict = f"active, as {reaches(case.score, halfway)}, the middle of its thresholds"
    else:
        verdict = f"dropped, as {below(case.score, halfway)}, the middle of its thresholds"
    found = f"; {case.matched}" if case.matched else ""
    return f"{NOT_ASKED}: {_SETTING} is {case.around.calls}; {verdict}{found}{case.made_of}"


def flip(case: Case) -> str:
    """What would have changed the verdict of a candidate that was not asked about."""
    halfway = middle(case.step)
    asked = f"a higher {_SETTING} would have put it to the gate"
    if halfway is None:
        return asked
    if case.score >= halfway:
        return f"{asked}; without, it would be dropped below {limit(halfway)}"
    return f"{asked}; without, it would be active at ≥ {limit(halfway)}"
