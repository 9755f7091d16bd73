"""Moving a threshold in steps: from 0 to 1, then “never”; the lower never exceeds the upper."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor
from typing import Literal

from engine.activation.policy import Thresholds
from tui.render.figures import score

ThresholdName = Literal["gate", "activate"]

STEP = 1
"""Hundredths per key press."""
FAST = 5
"""Hundredths per press of a fast key."""
_WHOLE = 100
_NEAR = 1e-6


def stepped(threshold: float | None, steps: int) -> float | None:
    """Moves a threshold by hundredths; one between two hundredths snaps to the next one in that direction.

    Above 1 comes never (``None``), and below never comes 1, whatever the step size.
    """
    if threshold is None:
        return None if steps > 0 else 1.0
    if steps > 0:
        place = floor(threshold * _WHOLE + _NEAR) + steps
        if threshold * _WHOLE >= _WHOLE - _NEAR:
            return None
        return min(place, _WHOLE) / _WHOLE
    return max(ceil(threshold * _WHOLE - _NEAR) + steps, 0) / _WHOLE


def moved(thresholds: Thresholds, name: ThresholdName, steps: int) -> Thresholds:
    """Moves one threshold by hundredths; it stops at the other one."""
    if name == "gate":
        gate = stepped(thresholds.gate, steps)
        if thresholds.activate is not None and (gate is None or gate > thresholds.activate):
            gate = thresholds.gate if steps > 0 and thresholds.gate is None else thresholds.activate
        return replace(thresholds, gate=gate)
    activate = stepped(thresholds.activate, steps)
    if thresholds.gate is not None and activate is not None and activate < thresholds.gate:
        activate = thresholds.gate
    return replace(thresholds, activate=activate)


def first_held(thresholds: Thresholds) -> ThresholdName:
    """The threshold that the keys move first: the upper one, unless only the lower one is set."""
    return "gate" if thresholds.activate is None and thresholds.gate is not None else "activate"


def threshold_text(threshold: float | None) -> str:
    """``.62``, or ``never``."""
    return "never" if threshold is None else score(threshold) if threshold > 0 else "0"


def thresholds_text(thresholds: Thresholds, offers: bool = False) -> str:
    """``gate .25, active never``, or ``offered .25, active never``."""
    gate, active = threshold_text(thresholds.gate), threshold_text(thresholds.activate)
    return f"{gate_word(offers)} {gate}, active {active}"


def gate_word(offers: bool) -> str:
    """The name of the lower threshold: from it on a topic is offered to the agent, or the gate is asked."""
    return "offered" if offers else "gate"
