"""Commands killed and failed at every step: the rerun ends as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash_sweep import reached_by

SCENARIOS = ("review", "tune", "tune undo", "undo", "config", "import", "trust", "trust revoked")


def test_a_rerun_completes_a_command_killed_between_write_and_commit(tmp_path: Path) -> None:
    where = "cli.command_crash_case:import"
    assert reached_by(where, tmp_path, 1_000, ["commit:blobs"]) == {"commit:blobs": 1}


@pytest.mark.thorough
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_rerun_completes_a_command_killed_or_failed_at_any_fault_point(
    tmp_path: Path, scenario: str
) -> None:
    reached = reached_by(f"cli.command_crash_case:{scenario}", tmp_path, 1)
    # An import creates a file; the other commands replace one.
    written = (
        {"create:link", "create:folder-fsync"}
        if scenario == "import"
        else {"replace:rename", "replace:folder-fsync"}
    )
    assert reached.keys() >= written | {
        "lock:acquire", "commit:blobs", "commit:tree", "commit:object", "commit:reference", "commit:index",
        "commit:folder-fsync", "temp:write", "temp:fsync",
    }  # fmt: skip
