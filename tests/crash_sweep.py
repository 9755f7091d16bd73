"""Runs a program that kills and fails work at its fault points, and says which it has reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}


def reached_by(
    runner: str, tmp_path: Path, step: int, points: Sequence[str], timeout: int = 1_000
) -> dict[str, int]:
    """The places that were disturbed by fault point; fails where the program finds something lost or doubled.

    Every ``step``-th hit is disturbed, of ``points``, or of all of them where none is named.
    """
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        done = subprocess.run(
            [sys.executable, "-m", runner, folder, str(step), *points],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    reached: dict[str, int] = json.loads(done.stdout)
    print(f"\nkilled, killed again and failed at {len(reached)} points, {sum(reached.values())} places")
    return reached
