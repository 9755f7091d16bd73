"""Moving a threshold by hundredths: the ends, “never”, and the other threshold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.activation.policy import Thresholds
from tests.cases import each_case
from tui.screens.tune.draw import FAST, STEP, first_held, moved, stepped

MARK = st.one_of(st.none(), st.floats(0, 1))


@each_case(
    ("threshold", "steps", "after"),
    [
        (0.34, STEP, 0.35),
        (0.34, -STEP, 0.33),
        (0.34, FAST, 0.39),
        (0.34, -FAST, 0.29),
        (0.345, STEP, 0.35),
        (0.345, -STEP, 0.34),
        (0.02, -FAST, 0.0),
        (0.0, -STEP, 0.0),
        (0.98, FAST, 1.0),
        (1.0, STEP, None),
        (1.0, FAST, None),
        (None, STEP, None),
        (None, -STEP, 1.0),
        (None, -FAST, 1.0),
        (0.29, STEP, 0.3),
        (0.57, STEP, 0.58),
    ],
)
def test_a_step_moves_a_threshold(threshold: float | None, steps: int, after: float | None) -> None:
    assert stepped(threshold, steps) == after


def test_the_thresholds_stop_at_each_other() -> None:
    assert moved(Thresholds(0.58, 0.6), "gate", FAST) == Thresholds(0.6, 0.6)
    assert moved(Thresholds(0.6, 0.6), "gate", STEP) == Thresholds(0.6, 0.6)
    assert moved(Thresholds(0.58, 0.6), "activate", -FAST) == Thresholds(0.58, 0.58)


def test_a_gate_that_is_never_asked_does_not_limit_the_other_threshold() -> None:
    assert moved(Thresholds(None, 0.6), "activate", -STEP) == Thresholds(None, 0.59)
    assert moved(Thresholds(None, 0.6), "gate", -STEP) == Thresholds(0.6, 0.6)
    assert moved(Thresholds(None, 0.6), "gate", STEP) == Thresholds(None, 0.6)


def test_without_an_upper_threshold_the_lower_one_reaches_never() -> None:
    assert moved(Thresholds(1.0, None), "gate", STEP) == Thresholds(None, None)
    assert first_held(Thresholds(0.15, None)) == "gate"
    assert first_held(Thresholds(0.15, 0.6)) == "activate"
    assert first_held(Thresholds(None, None)) == "activate"


@given(MARK, MARK, st.sampled_from(["gate", "activate"]), st.sampled_from([-FAST, -STEP, STEP, FAST]))
def test_a_moved_pair_stays_in_order(
    gate: float | None, activate: float | None, name: str, steps: int
) -> None:
    if gate is not None and activate is not None and gate > activate:
        gate, activate = activate, gate
    after = moved(Thresholds(gate, activate), name, steps)  # type: ignore[arg-type]
    for threshold in (after.gate, after.activate):
        assert threshold is None or 0 <= threshold <= 1
    if after.gate is not None and after.activate is not None:
        assert after.gate <= after.activate
    if name == "gate":
        assert after.activate == activate
    else:
        assert after.gate == gate
