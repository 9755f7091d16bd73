"""Killed, out of space, raced: nothing is lost, nothing is there twice (C1, C2, C3, L1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from tests.knowledge.harvest_racer import fact
from tests.knowledge.harvest_support import Desk, Scripted, said

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
ALL_POINTS = (
    "lock:acquire", "temp:create", "temp:write", "temp:fsync", "replace:rename", "replace:folder-fsync",
    "append:open", "append:write", "append:fsync", "create:link", "remove:unlink", "remove:folder-fsync",
    "move:rename", "move:folder-fsync", "commit:blobs", "commit:tree", "commit:object", "commit:index",
    "commit:reference",
)  # fmt: skip
SWEEPS = [
    pytest.param(400, ("append:write", "move:rename", "remove:unlink", "commit:reference"), id="some"),
    pytest.param(1, (), marks=pytest.mark.thorough, id="all"),
]
"""Every so many-th hit is disturbed, of which points; no point named means all of them."""
EACH = [pytest.param(20, id="some"), pytest.param(500, marks=pytest.mark.thorough, id="five hundred")]


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("step", "points"), SWEEPS)
def test_at_every_fault_point(tmp_path: Path, step: int, points: tuple[str, ...]) -> None:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.knowledge.harvest_crash_runner", folder, str(step), *points],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            text=True,
            timeout=1_000,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    reached = json.loads(done.stdout)
    print(f"\nkilled, killed again and failed at {len(reached)} points, {sum(reached.values())} places")
    assert reached.keys() >= set(points or ALL_POINTS)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("each", EACH)
def test_two_processes_harvest_many_each(tmp_path: Path, each: int) -> None:
    desk = Desk(tmp_path, Scripted({}), git=False)
    for number in range(2 * each):
        desk.put(f"talk-{number:04}.md", said(fact(number)))
    racers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.knowledge.harvest_racer",
                str(tmp_path),
                str(first),
                str(first + each),
            ],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
        )
        for first in (0, each)
    ]
    outcomes = [Counter(json.loads(racer.communicate(timeout=1_000)[0])) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0]
    assert outcomes == [Counter(harvested=each)] * 2
    lines = desk.lines()
    texts = Counter(line.partition(" [from:")[0].removeprefix("- ") for line in lines)
    print(f"\n{len(lines)} lines of {2 * each}, {sum(count - 1 for count in texts.values())} twice")
    assert texts == Counter(fact(number).text for number in range(2 * each))
    entries = desk.knowledge.ledger.entries()
    assert len(entries) == 2 * each
    assert {entry.total for entry in entries.values()} == {1}


@pytest.mark.parametrize(
    ("racers", "each"), [(3, 5), pytest.param(16, 60, marks=pytest.mark.thorough, id="sixteen")]
)
def test_processes_that_reclaim_the_same_conversations_commit_every_deletion_and_say_nothing(
    tmp_path: Path, racers: int, each: int
) -> None:
    desk = Desk(tmp_path, Scripted({}))
    for number in range(each):
        desk.put(f"talk-{number:04}.md", said(fact(number)))
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.knowledge.harvest_racer", str(tmp_path), "0", str(each), "reclaim"],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(racers)
    ]
    told = [racer.communicate(timeout=110) for racer in running]
    assert told == [("[]\n", "")] * racers
    assert len(desk.lines()) == len(set(desk.lines())) == each
    assert len(desk.knowledge.trash.all()) == each
    status = subprocess.run(
        ["git", "status", "--porcelain", "--", ".", ":!scratch", ":!memory-config.yaml"],
        cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    assert status.stdout == b""


def test_processes_that_harvest_the_same_conversations_write_each_line_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Scripted({}), git=False)
    for number in range(20):
        desk.put(f"talk-{number:04}.md", said(fact(number)))
    racers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.knowledge.harvest_racer", str(tmp_path), "0", "20"],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            stdout=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    for racer in racers:
        racer.communicate(timeout=110)
    assert len(desk.lines()) == len(set(desk.lines())) == 20
    assert len(desk.knowledge.ledger.entries()) == 20
