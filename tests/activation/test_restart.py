"""Another process gives the same trace for a message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
MESSAGE = (
    "Can you review the PR that just came in, draft a reply to the email about the deploy, plan the trip to "
    "Lisbon and look at why the tests of the billing service have been failing since yesterday?"
)


def trace(workspace: Path, seed: int) -> dict[str, Any]:
    """The trace of the message from a separate process."""
    done = subprocess.run(
        [sys.executable, "-m", "tui.cli", "-C", str(workspace), "trace", MESSAGE, "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
    )
    trace: dict[str, Any] = json.loads(done.stdout)
    return trace


def without_times(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace without timestamps and durations."""
    message = {**trace["message"], "at": ""}
    return {**trace, "message": message, "tier1_ms": 0.0, "tier2_ms": 0.0, "gate_ms": 0.0}


def test_two_processes_give_the_same_trace(sample: Path) -> None:
    first, second = trace(sample, 1), trace(sample, 4242)
    assert without_times(first) == without_times(second)
    assert first["funnel"]["tier1"] > 2 and len(first["rows"]) > 5
