"""After a kill or a full disk a reconstruction resumes with the same result; the workspace never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_sweep import reached_by

SWEEPS = [
    pytest.param(400, ("tag:reference",), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Disturbs every ``step``-th hit of these fault points; an empty tuple means all points."""
POINTS = {
    "folder:create", "lock:acquire", "temp:create", "temp:write", "temp:fsync", "replace:rename",
    "replace:folder-fsync", "append:open", "append:write", "append:fsync", "remove:unlink", "commit:blobs",
    "commit:tree", "commit:object", "commit:reference", "tag:reference",
}  # fmt: skip


@pytest.mark.timeout(2_400)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_a_reconstruction_recovers_from_a_crash_at_every_fault_point(
    tmp_path: Path, step: int, points: tuple[str, ...]
) -> None:
    reached = reached_by("lifecycle.reconstruction_crash_case", tmp_path, step, points, timeout=2_000)
    assert reached.keys() >= (set(points) or POINTS)
