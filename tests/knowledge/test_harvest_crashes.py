"""After kills, full disks and races, nothing is lost or duplicated (C1, C2, C3, L1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.crash_sweep import ENVIRONMENT, ROOT, reached_by
from tests.knowledge.harvest_racer import fact
from tests.knowledge.harvest_support import Desk, Scripted, conversation_of

ALL_POINTS = (
    "lock:acquire", "temp:create", "temp:write", "temp:fsync", "replace:rename", "replace:folder-fsync",
    "append:open", "append:write", "append:fsync", "create:link", "remove:unlink", "remove:folder-fsync",
    "move:rename", "move:folder-fsync", "commit:blobs", "commit:tree", "commit:object", "commit:index",
    "commit:reference",
)  # fmt: skip
SWEEPS = [
    pytest.param(400, ("move:rename",), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Disturbs every ``step``-th hit of these fault points; an empty tuple means all points."""
EACH = [pytest.param(10, id="some"), pytest.param(500, marks=pytest.mark.thorough, id="five hundred")]


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_a_harvest_recovers_from_a_crash_at_every_fault_point(
    tmp_path: Path, step: int, points: tuple[str, ...]
) -> None:
    reached = reached_by("knowledge.harvest_crash_case", tmp_path, step, points)
    assert reached.keys() >= set(points or ALL_POINTS)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("each", EACH)
def test_two_processes_harvest_many_conversations_each(tmp_path: Path, each: int) -> None:
    desk = Desk(tmp_path, Scripted({}), git=False)
    for number in range(2 * each):
        desk.put(f"talk-{number:04}.md", conversation_of(fact(number)))
    outcomes = [Counter(output) for output in race(tmp_path, (0, each), (each, 2 * each))]
    assert outcomes == [Counter(harvested=each)] * 2
    lines = desk.lines()
    texts = Counter(line.partition(" [from:")[0].removeprefix("- ") for line in lines)
    print(f"\n{len(lines)} lines of {2 * each}, {sum(count - 1 for count in texts.values())} duplicated")
    assert texts == Counter(fact(number).text for number in range(2 * each))
    entries = desk.knowledge.ledger.entries()
    assert len(entries) == 2 * each
    assert {entry.total for entry in entries.values()} == {1}


@pytest.mark.parametrize(
    ("racers", "each"), [(3, 5), pytest.param(16, 60, marks=pytest.mark.thorough, id="sixteen")]
)
def test_concurrent_reclaims_commit_every_deletion_without_errors(
    tmp_path: Path, racers: int, each: int
) -> None:
    desk = Desk(tmp_path, Scripted({}))
    for number in range(each):
        desk.put(f"talk-{number:04}.md", conversation_of(fact(number)))
    assert race(tmp_path, *[(0, each)] * racers, reclaim=True) == [[]] * racers
    assert len(desk.lines()) == len(set(desk.lines())) == each
    assert len(desk.knowledge.trash.all()) == each
    status = subprocess.run(
        ["git", "status", "--porcelain", "--", ".", ":!scratch", ":!memory-config.yaml"],
        cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert status.stdout == b""


def test_concurrent_harvests_of_the_same_conversations_write_each_line_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({}), git=False)
    for number in range(12):
        desk.put(f"talk-{number:04}.md", conversation_of(fact(number)))
    race(tmp_path, *[(0, 12)] * 4)
    assert len(desk.lines()) == len(set(desk.lines())) == 12
    assert len(desk.knowledge.ledger.entries()) == 12


def race(root: Path, *ranges: tuple[int, int], reclaim: bool = False) -> list[list[str]]:
    """Returns the output of processes that harvest conversations concurrently."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.knowledge.harvest_racer", str(root), json.dumps(ranges)]
        + ["reclaim"] * reclaim,
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=1_000,
    )
    assert (done.returncode, done.stderr) == (0, "")
    outputs: list[list[str]] = json.loads(done.stdout)
    return outputs
