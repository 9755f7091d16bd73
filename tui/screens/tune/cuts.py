"""Moving a cut by steps: between 0 and 1, “never” behind 1, and the lower one never above the upper one."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor
from typing import Literal

from engine.activation.policy import Cuts
from tui.render.figures import score

CutName = Literal["gate", "activate"]

STEP = 1
"""Hundredths that a plain key moves a cut."""
FAST = 5
"""Hundredths that the fast keys move it."""
_WHOLE = 100
_NEAR = 1e-6


def stepped(cut: float | None, steps: int) -> float | None:
    """A cut some hundredths further; one between two hundredths goes to the nearest in that direction first.

    From 1 it goes to never (``None``), and from never back to 1, whatever the size of the step.
    """
    if cut is None:
        return None if steps > 0 else 1.0
    if steps > 0:
        place = floor(cut * _WHOLE + _NEAR) + steps
        if cut * _WHOLE >= _WHOLE - _NEAR:
            return None
        return min(place, _WHOLE) / _WHOLE
    return max(ceil(cut * _WHOLE - _NEAR) + steps, 0) / _WHOLE


def moved(cuts: Cuts, name: CutName, steps: int) -> Cuts:
    """The pair with one cut moved by some hundredths; it stops at the other one."""
    if name == "gate":
        gate = stepped(cuts.gate, steps)
        if cuts.activate is not None and (gate is None or gate > cuts.activate):
            gate = cuts.gate if steps > 0 and cuts.gate is None else cuts.activate
        return replace(cuts, gate=gate)
    activate = stepped(cuts.activate, steps)
    if cuts.gate is not None and activate is not None and activate < cuts.gate:
        activate = cuts.gate
    return replace(cuts, activate=activate)


def first_held(cuts: Cuts) -> CutName:
    """The cut that the keys move at first: the upper one, unless there is only a lower one."""
    return "gate" if cuts.activate is None and cuts.gate is not None else "activate"


def cut_text(cut: float | None) -> str:
    """``.62``, or ``never``."""
    return "never" if cut is None else score(cut) if cut > 0 else "0"


def cuts_text(cuts: Cuts) -> str:
    """``gate .25, active never``."""
    return f"gate {cut_text(cuts.gate)}, active {cut_text(cuts.activate)}"
