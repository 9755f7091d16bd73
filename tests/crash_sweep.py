"""Kill or fail an operation at its fault points, in forked children, and report the points reached.

A child is killed at one point; the next is killed at the same kind of point during recovery, the one after
that at another point, and the last one runs undisturbed. Another child gets a disk error there and retries.
In every case the final state must equal that of an undisturbed run.

``python -m tests.crash_sweep MODULE[:CASE] FOLDER STEP [POINT...]`` sweeps the ``CASES`` of a module and
prints the points reached as JSON. It is a separate program because a test runner with threads must not fork.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import ahocorasick
import filelock
import numpy

from engine.errors import AutopoiesisError
from engine.store import faults

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
LOADED = (ahocorasick, filelock, numpy)
"""Imported once here instead of in each of hundreds of children; case modules import what else they need."""


def reached_by(
    cases: str, tmp_path: Path, step: int, points: Sequence[str] = (), timeout: int = 1_000
) -> dict[str, int]:
    """Sweep cases in a separate process; fail if anything is lost or duplicated.

    Args:
        cases: A module below ``tests``, optionally followed by a colon and one of its cases.
        tmp_path: Where the workspaces are created.
        step: Disturb the first hit of a point and every ``step``-th after it.
        points: Fault points to disturb; all if empty.
        timeout: In seconds.

    Returns:
        The last disturbed hit by fault point.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash_sweep", f"tests.{cases}", str(tmp_path), str(step), *points],
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


class Case:
    """An operation and the workspace it starts from: a copy at ``root`` of the one at ``pristine``."""

    hits = 400
    """Maximum number of hits of one point to disturb."""
    retried: tuple[type[Exception], ...] = (AutopoiesisError, OSError)
    """Errors after which the operation is retried."""
    tries = 4

    def __init__(self, folder: Path) -> None:
        self.pristine, self.root = folder / "pristine", folder / "w"

    def prepare(self) -> None:
        """Create the initial state; runs in its own process, so that no lock is inherited."""
        raise NotImplementedError

    def reset(self) -> None:
        """Restore the initial state."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.pristine, self.root, symlinks=True)

    def work(self) -> bool:
        """Run the operation in its own process; return whether it completed."""
        raise NotImplementedError

    def content(self) -> dict[str, object]:
        """The final state, without times and anything that depends on order."""
        raise NotImplementedError

    def check_whole(self, wanted: dict[str, object]) -> None:
        """Check that the undisturbed operation did its job."""

    def check_after_kill(self, wanted: dict[str, object]) -> None:
        """Check that a kill lost and duplicated nothing."""

    def recover(self) -> None:
        """Do what a person does after a disk error, if a retry is not enough."""

    def around(self) -> contextlib.AbstractContextManager[object]:
        """A context manager for anything that runs during the sweep."""
        return contextlib.nullcontext()

    def in_child(self, fault: str = "", modules: Path | None = None) -> bool:
        """Run the operation in a child process; return False if it was killed.

        Args:
            modules: The file to which the child writes the names of its loaded modules.
        """
        child = os.fork()
        if not child:
            if fault:
                faults.arm_from(fault)
            for _ in range(self.tries):
                try:
                    if self.work():
                        if modules is not None:
                            modules.write_text(json.dumps(list(sys.modules)))
                        os._exit(0)
                except self.retried as error:
                    print(fault, repr(error), file=sys.stderr)
            os._exit(3)
        return not _killed(child, fault)


def _killed(child: int, what: str) -> bool:
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, f"{what}: exit status {status}"
    return False


def sweep(case: Case, step: int, only: Sequence[str]) -> dict[str, int]:
    """Disturb a case at its fault points; return the last disturbed hit of each."""
    child = os.fork()
    if not child:
        case.prepare()
        os._exit(0)
    assert not _killed(child, "prepare")
    reached: dict[str, int] = {}
    points = sorted(faults.FAULT_POINTS)
    number = 0
    with case.around():
        case.reset()
        modules = case.pristine.with_name("modules.json")
        assert case.in_child(modules=modules)
        # Loaded once here instead of in each of hundreds of child processes.
        for name in json.loads(modules.read_text()):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        wanted = case.content()
        case.check_whole(wanted)

        def check(*where: object) -> None:
            found = case.content()
            differ = {key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)}
            assert not differ, (where, {key: (found.get(key), wanted.get(key)) for key in differ})

        for point in only or points:
            for hit in range(1, case.hits, step):
                number += 1
                case.reset()
                if case.in_child(f"{point}:kill:{hit}"):
                    check(point, hit, "not reached")
                    break
                reached[point] = hit
                case.check_after_kill(wanted)
                # Killed during recovery: at the same point as before, and at another one.
                other = points[(7 * number + hit) % len(points)]
                for second in (f"{point}:kill", f"{other}:kill:{1 + number % 4}"):
                    if not case.in_child(second):
                        case.check_after_kill(wanted)
                assert case.in_child()
                check(point, hit)
                kind = "EIO" if "fsync" in point else "ENOSPC"
                case.reset()
                assert case.in_child(f"{point}:{kind}:{hit}")
                case.check_after_kill(wanted)
                case.recover()
                check(point, hit, kind)
    return reached


def main(where: str, folder: str, step: str, *points: str) -> None:
    """Sweep the cases one after another and print the points reached."""
    module, _, name = where.partition(":")
    cases: dict[str, Callable[[Path], Case]] = importlib.import_module(module).CASES
    total: Counter[str] = Counter()
    for each in [name] if name else cases:
        place = Path(folder) / each.replace(" ", "-")
        place.mkdir()
        # This module is loaded under two names, so `Case` here is not the class that cases inherit from.
        total += Counter(sweep(cases[each](place), int(step), points))
    print(json.dumps(total))


if __name__ == "__main__":
    main(*sys.argv[1:])
