"""Moving a threshold by steps: between 0 and 1, “never” behind 1, and the lower never above the upper."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor
from typing import Literal

from engine.activation.policy import Thresholds
from tui.render.figures import score

ThresholdName = Literal["gate", "activate"]

STEP = 1
"""Hundredths that a plain key moves a threshold."""
FAST = 5
"""Hundredths that the fast keys move it."""
_WHOLE = 100
_NEAR = 1e-6


def stepped(threshold: float | None, steps: int) -> float | None:
    """A threshold some hundredths on; one between two hundredths goes to the nearest in that direction first.

    From 1 it goes to never (``None``), and from never back to 1, whatever the size of the step.
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
    """The pair with one threshold moved by some hundredths; it stops at the other one."""
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
    """The threshold that the keys move at first: the upper one, unless there is only a lower one."""
    return "gate" if thresholds.activate is None and thresholds.gate is not None else "activate"


def threshold_text(threshold: float | None) -> str:
    """``.62``, or ``never``."""
    return "never" if threshold is None else score(threshold) if threshold > 0 else "0"


def thresholds_text(thresholds: Thresholds) -> str:
    """``gate .25, active never``."""
    return f"gate {threshold_text(thresholds.gate)}, active {threshold_text(thresholds.activate)}"
