"""Failing log writes and racing programs: each moment still has its run."""

from __future__ import annotations

import contextlib
import errno
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.lifecycle.schedule.job import Task
from engine.store.faults import fail, trip
from tests.lifecycle.test_schedule import DAY, NOON, Program

MOMENT = NOON + timedelta(hours=11)
POINTS = ("lock:acquire", "append:open", "append:write", "append:fsync")


def test_after_any_failed_write_a_moment_has_one_or_two_runs(tmp_path: Path) -> None:
    disturbed = 0
    for point in POINTS:
        for hit in range(1, 4):
            root = tmp_path / f"{point.replace(':', '-')}-{hit}"
            root.mkdir()
            (root / "memory-config.yaml").write_text("")
            program, hits = Program(root), [0]
            program.add("tidy")
            program.look()

            def act(hits: list[int] = hits, hit: int = hit) -> None:
                hits[0] += 1
                if hits[0] == hit:
                    fail(errno.ENOSPC)()

            with trip(point, act):
                for step in (DAY, timedelta(), timedelta()):
                    program.now += step
                    with contextlib.suppress(AutopoiesisError, OSError):
                        program.look()
            disturbed += hits[0] >= hit
            program.look()
            assert {each for _, each in program.did} <= {MOMENT} and len(program.did) in (1, 2), (point, hit)
            last = program.schedule.row("tidy").last
            assert last is not None and last.result == "done" and program.look() == [], (point, hit)
            program.schedule.close()
    assert disturbed >= 6


@pytest.mark.parametrize("days", [5, pytest.param(200, marks=pytest.mark.thorough)])
def test_concurrent_programs_run_each_moment_once(tmp_path: Path, days: int) -> None:
    (tmp_path / "memory-config.yaml").write_text("")
    now = [NOON]
    did: list[object] = []
    first = Program(tmp_path)
    first.add("tidy")
    first.look()
    first.schedule.close()

    def note(task: Task) -> str:
        did.append(task.due)
        return "noted"

    def open_program() -> Program:
        made = Program(tmp_path)
        made.add("tidy", run=note)
        return made

    def look_and_leave(barrier: threading.Barrier) -> None:
        program = open_program()
        program.now = now[0]
        barrier.wait(60)
        program.look()
        program.schedule.close()

    for _ in range(days):
        now[0] += DAY
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=look_and_leave, args=(barrier,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert did == [MOMENT + number * DAY for number in range(days)]
