"""Killed, out of space: the next sync goes on, nothing is lost, nothing is there twice (C1, C2, C3)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALL_POINTS = (
    "sync:fetch", "sync:plan", "sync:apply", "sync:push", "temp:create", "temp:write", "temp:fsync",
    "replace:rename", "replace:folder-fsync", "remove:unlink", "remove:folder-fsync", "commit:blobs",
    "commit:tree", "commit:object", "commit:reference", "commit:index", "commit:folder-fsync",
)  # fmt: skip
SWEEPS = [
    pytest.param(400, ("commit:reference",), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Every so many-th hit is disturbed, of which points; no point named means all of them."""


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_at_every_step_of_a_sync(tmp_path: Path, step: int, points: tuple[str, ...]) -> None:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.sync.crash_runner", folder, str(step), *points],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=1_700,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    reached = json.loads(done.stdout)
    print(f"\nkilled, killed again and failed at {len(reached)} points, {sum(reached.values())} places")
    assert reached.keys() >= set(points or ALL_POINTS)
