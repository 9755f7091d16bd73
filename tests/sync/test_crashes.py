"""After a kill or a full disk the next sync recovers without loss or duplicates (C1, C2, C3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_sweep import reached_by

ALL_POINTS = (
    "sync:fetch", "sync:plan", "sync:apply", "sync:push", "temp:create", "temp:write", "temp:fsync",
    "replace:rename", "replace:folder-fsync", "remove:unlink", "remove:folder-fsync", "commit:blobs",
    "commit:tree", "commit:object", "commit:reference", "commit:index", "commit:folder-fsync",
)  # fmt: skip
SWEEPS = [
    pytest.param(400, ("commit:reference",), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Disturbs every ``step``-th hit of these fault points; an empty tuple means all points."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_a_sync_recovers_from_a_crash_at_every_step(
    tmp_path: Path, step: int, points: tuple[str, ...]
) -> None:
    reached = reached_by("sync.sync_crash_case", tmp_path, step, points, timeout=1_700)
    assert reached.keys() >= set(points or ALL_POINTS)
