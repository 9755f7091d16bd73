"""Pruning killed or out of space at any step is completed by a rerun without loss or duplicates (C1, C3)."""

from __future__ import annotations

import errno
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.store.faults import FAULT_POINTS, fail, trip
from tests.lifecycle.upkeep_support import MEMORY, Desk, memory


class Killed(BaseException):
    """Simulates the death of the process."""


def kill() -> None:
    raise Killed


OLD = "knowledge/journal/2025-02-03.md"


def prune(root: Path) -> None:
    """Does what ``prune --apply`` does."""
    desk = Desk(root, memory_line_cap=30)
    desk.retention.recover()
    desk.condenser.apply(desk.retention.plan().proposals, 99)


def lines(root: Path) -> Counter[str]:
    return Counter(line for line in Desk(root, memory_line_cap=30).markdown() if line.startswith("- "))


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("act", [kill, fail(errno.ENOSPC)], ids=["killed", "disk full"])
def test_pruning_interrupted_at_any_step_is_completed_by_the_next_run(
    tmp_path: Path, step: int, act: Callable[[], None]
) -> None:
    start = tmp_path / "start"
    desk = Desk(start, memory_line_cap=30)
    desk.put({MEMORY: memory(30), OLD: "## 2025-02-03\n\n- An old line\n",
              "knowledge/people/ada.md": f"# Ada\n\n- Met on the [third](../{OLD[10:]})\n"})  # fmt: skip
    before = lines(start)
    whole = tmp_path / "whole"
    shutil.copytree(start, whole)
    prune(whole)
    wanted = {path: (whole / path).read_bytes() for path in Desk(whole).git("ls-files").split("\n")[:-1]}
    assert "archive/journal/2025-02-03.md" in wanted and OLD not in wanted
    assert {line for line in before if "[third]" not in line} <= set(lines(whole))
    number, reached = 0, Counter[str]()
    while True:
        number += step
        hits = 0
        root = tmp_path / f"cut-{number}"
        shutil.copytree(start, root)

        def act_at_hit(point: str, wanted: int = number) -> None:
            nonlocal hits
            hits += 1
            if hits == wanted:
                reached[point] += 1
                act()

        tripped = [trip(point, lambda point=point: act_at_hit(point)) for point in sorted(FAULT_POINTS)]  # type: ignore[misc]
        for each in tripped:
            each.__enter__()
        try:
            prune(root)
        except (Killed, AutopoiesisError, OSError):
            pass
        finally:
            for each in tripped:
                each.__exit__(None, None, None)
        if hits < number:
            break
        prune(root)
        again = Desk(root, memory_line_cap=30)
        assert again.dirty() == "", (number, reached)
        assert {path: (root / path).read_bytes() for path in again.git("ls-files").split("\n")[:-1]} == wanted
        assert not [*(root / "scratch").glob("changes/*")]
        shutil.rmtree(root)
    assert number > 50 and (step > 1 or len(reached) >= 14), reached
