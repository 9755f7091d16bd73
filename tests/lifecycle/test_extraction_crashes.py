"""After a kill or a full disk nothing extracted is lost or duplicated (C1, C2, C3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_sweep import reached_by
from tests.knowledge.test_harvest_crashes import ALL_POINTS

POINTS = {point for point in ALL_POINTS if not point.startswith("move:")}
"""An extraction moves no files."""
SWEEPS = [
    pytest.param(400, ("replace:rename",), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Disturbs every ``step``-th hit of these fault points; an empty tuple means all points."""


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_an_extraction_recovers_from_a_crash_at_every_fault_point(
    tmp_path: Path, step: int, points: tuple[str, ...]
) -> None:
    reached = reached_by("lifecycle.extraction_crash_case", tmp_path, step, points)
    assert reached.keys() >= (set(points) or POINTS)
