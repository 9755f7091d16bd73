"""Kills and fails a piece of work at its fault points, in forked children, and says which it has reached.

A child is killed at one point; the next one is killed where it passes the same kind of point, the one after
it at another, and then one is left alone. Another child meets an error of the disk there and tries again.
Whatever happened, the end is the same as that of a run which nothing disturbed.

``python -m tests.crash_sweep MODULE[:CASE] FOLDER STEP [POINT...]`` sweeps the ``CASES`` of a module and
prints what was reached as JSON: a program of its own, as a test runner with threads must not fork.
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
"""Here once, and not in each of hundreds of children; modules of cases name what else theirs need."""


def reached_by(
    cases: str, tmp_path: Path, step: int, points: Sequence[str] = (), timeout: int = 1_000
) -> dict[str, int]:
    """The places that were disturbed by fault point; fails where something is found lost or doubled.

    Args:
        cases: Where they are: a module below ``tests``, and after a colon which of its cases.
        tmp_path: Where the workspaces are made.
        step: The first hit of a point is disturbed, and every so many-th after it.
        points: The points that are disturbed; all where none is named.
        timeout: In seconds.
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
    """A piece of work and the workspace it begins in: a copy at ``root`` of the one at ``pristine``."""

    hits = 400
    """The most hits of one point that are disturbed."""
    retried: tuple[type[Exception], ...] = (AutopoiesisError, OSError)
    """After which errors the work is asked for again."""
    tries = 4

    def __init__(self, folder: Path) -> None:
        self.pristine, self.root = folder / "pristine", folder / "w"

    def prepare(self) -> None:
        """Makes what the work begins with; in a process of its own, as no lock is inherited."""
        raise NotImplementedError

    def renew(self) -> None:
        """Puts everything back to where it begins."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.pristine, self.root, symlinks=True)

    def work(self) -> bool:
        """Does it, in a process of its own; whether it came to the end."""
        raise NotImplementedError

    def content(self) -> dict[str, object]:
        """What stands there in the end, without times and what is a matter of order."""
        raise NotImplementedError

    def check_whole(self, wanted: dict[str, object]) -> None:
        """The work did what it is for."""

    def check_meanwhile(self, wanted: dict[str, object]) -> None:
        """After a kill nothing is lost, and nothing is there twice."""

    def recover(self) -> None:
        """What a person does after an error of the disk, where one try more is not enough."""

    def around(self) -> contextlib.AbstractContextManager[object]:
        """What runs meanwhile."""
        return contextlib.nullcontext()

    def in_child(self, fault: str = "", loaded: Path | None = None) -> bool:
        """Works in a process of its own; whether it was not killed.

        Args:
            loaded: Where it tells which modules it had in the end.
        """
        child = os.fork()
        if not child:
            if fault:
                faults.arm_from(fault)
            for _ in range(self.tries):
                try:
                    if self.work():
                        if loaded is not None:
                            loaded.write_text(json.dumps(list(sys.modules)))
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
    """How often each fault point was reached."""
    child = os.fork()
    if not child:
        case.prepare()
        os._exit(0)
    assert not _killed(child, "prepare")
    reached: dict[str, int] = {}
    points = sorted(faults.FAULT_POINTS)
    number = 0
    with case.around():
        case.renew()
        loaded = case.pristine.with_name("loaded.json")
        assert case.in_child(loaded=loaded)
        # Loaded here once, and not in each of hundreds of children.
        for name in json.loads(loaded.read_text()):
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
                case.renew()
                if case.in_child(f"{point}:kill:{hit}"):
                    check(point, hit, "not reached")
                    break
                reached[point] = hit
                case.check_meanwhile(wanted)
                # Killed in the recovery: where it was killed before, and somewhere else.
                other = points[(7 * number + hit) % len(points)]
                for second in (f"{point}:kill", f"{other}:kill:{1 + number % 4}"):
                    if not case.in_child(second):
                        case.check_meanwhile(wanted)
                assert case.in_child()
                check(point, hit)
                kind = "EIO" if "fsync" in point else "ENOSPC"
                case.renew()
                assert case.in_child(f"{point}:{kind}:{hit}")
                case.check_meanwhile(wanted)
                case.recover()
                check(point, hit, kind)
    return reached


def main(where: str, folder: str, step: str, *points: str) -> None:
    """Sweeps one case after the other and prints what was reached."""
    module, _, name = where.partition(":")
    cases: dict[str, Callable[[Path], Case]] = importlib.import_module(module).CASES
    total: Counter[str] = Counter()
    for each in [name] if name else cases:
        place = Path(folder) / each.replace(" ", "-")
        place.mkdir()
        # The class here and the one a case inherits from are two, as this module is loaded under two names.
        total += Counter(sweep(cases[each](place), int(step), points))
    print(json.dumps(total))


if __name__ == "__main__":
    main(*sys.argv[1:])
