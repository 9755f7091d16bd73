"""Killed, out of space: nothing that was extracted is lost, and nothing is there twice (C1, C2, C3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_sweep import reached_by
from tests.knowledge.test_harvest_crashes import ALL_POINTS

POINTS = {point for point in ALL_POINTS if not point.startswith("move:")}
"""Nothing is moved."""
SWEEPS = [
    pytest.param(400, ("replace:rename", "commit:reference"), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Every so many-th hit is disturbed, of which points; no point named means all of them."""


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_at_every_fault_point(tmp_path: Path, step: int, points: tuple[str, ...]) -> None:
    reached = reached_by("lifecycle.extraction_crash_case", tmp_path, step, points)
    assert reached.keys() >= (set(points) or POINTS)
