"""Commands that write and commit, killed and failed at every step: the rerun ends as if nothing had been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCENARIOS = ("review", "tune", "tune undo", "undo", "config", "import", "trust", "trust taken back")
IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}


def swept(tmp_path: Path, scenario: str, part: int, *points: str) -> dict[str, int]:
    """How often each point was reached; everything else is checked by the runner."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.cli.command_crash_runner", folder, scenario, str(part), *points],
            cwd=ROOT,
            env={**os.environ, **IDENTITY, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=1_000,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("scenario", ["review", "tune undo", "undo", "import"])
def test_a_kill_between_write_and_commit_converges_on_a_rerun(tmp_path: Path, scenario: str) -> None:
    assert swept(tmp_path, scenario, 1_000, "commit:blobs") == {"commit:blobs": 1}


@pytest.mark.thorough
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_at_every_fault_point(tmp_path: Path, scenario: str) -> None:
    reached = swept(tmp_path, scenario, 1)
    places = sum(reached.values())
    print(
        f"\n{scenario}: {len(reached)} points, {places} places × kill, kill again, error:"
        f" {3 * places} runs disturbed, 0 lost, 0 doubled, all converge"
    )
    # An import makes a file that was not there, the others put one in the place of another.
    put = (
        {"create:link", "create:folder-fsync"}
        if scenario == "import"
        else {"replace:rename", "replace:folder-fsync"}
    )
    assert reached.keys() >= put | {
        "lock:acquire", "commit:blobs", "commit:tree", "commit:object", "commit:reference", "commit:index",
        "commit:folder-fsync", "temp:write", "temp:fsync",
    }  # fmt: skip
