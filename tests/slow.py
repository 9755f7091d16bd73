"""Chooses the tests that ``make test`` leaves out, and ``make test ALL=1`` does not: ``tests/slow.txt``.

They take two thirds of the processor time of all tests and reach hardly a line of the program that the others
do not reach, three in a thousand::

    python -m tests.slow

runs all tests on Python 3.12 or newer, measures the time of each and the lines that it reaches in this
process, and writes the list anew. Pictures of screens are never left out.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

TESTS = Path(__file__).parent
LIST = TESTS / "slow.txt"
_PROGRAM = tuple(f"{TESTS.parent / name}{os.sep}" for name in ("engine", "tui"))
_MEASURED = "AUTOPOIESIS_TESTS_MEASURED"
_LEAST_S = 0.25
"""Seconds of all cases of a test below which it is never left out."""
_LINES_PER_S = 2
"""Lines that only this test reaches, for each second that it takes, above which it is not left out."""
_MONITORING: Any = getattr(sys, "monitoring", None)
_TOOL = 3


def _processor_s() -> float:
    """Processor time of this process and of its ended children."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def function(test: str) -> str:
    """The id of a test without its parameters."""
    return test.partition("[")[0]


class Lines:
    """A plugin that writes the seconds and the lines of each test to a file of its process."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / f"{os.getpid()}.pickle"
        self._found: dict[str, tuple[float, frozenset[tuple[str, int]]]] = {}
        self._now: set[tuple[str, int]] = set()
        self._known: dict[tuple[str, int], tuple[str, int]] = {}  # so that each is kept in memory once
        watch = _MONITORING
        watch.use_tool_id(_TOOL, "tests.slow")
        watch.register_callback(_TOOL, watch.events.PY_START, self._started)
        watch.register_callback(_TOOL, watch.events.LINE, self._reached)
        watch.set_events(_TOOL, watch.events.PY_START)

    def _started(self, code: CodeType, _offset: int) -> object:
        if code.co_filename.startswith(_PROGRAM):
            _MONITORING.set_local_events(_TOOL, code, _MONITORING.events.LINE)
        return _MONITORING.DISABLE  # each is reported once a test

    def _reached(self, code: CodeType, line: int) -> object:
        place = code.co_filename, line
        self._now.add(self._known.setdefault(place, place))
        return _MONITORING.DISABLE

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now = set()
        _MONITORING.restart_events()
        began = _processor_s()
        yield
        self._found[item.nodeid] = (_processor_s() - began, frozenset(self._now))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        _MONITORING.free_tool_id(_TOOL)
        self._file.write_bytes(pickle.dumps(self._found))


def pytest_configure(config: pytest.Config) -> None:
    if (folder := os.environ.get(_MEASURED)) and hasattr(config, "workerinput"):
        config.pluginmanager.register(Lines(Path(folder)))


def choose(found: dict[str, tuple[float, frozenset[tuple[str, int]]]]) -> list[str]:
    """The tests to leave out, by the seconds and lines of each case: the slowest first, if the tests that
    stay reach nearly all of its lines.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    lines: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for test, (took, reached) in found.items():
        seconds[function(test)] += took
        lines[function(test)] |= reached
    reached_by = Counter(line for reached in lines.values() for line in reached)
    chosen = []
    for test, took in sorted(seconds.items(), key=lambda each: -each[1]):
        if took < _LEAST_S or "_pictures.py::" in test:
            continue
        alone = sum(reached_by[line] < 2 for line in lines[test])
        if alone <= _LINES_PER_S * took:
            reached_by.subtract(lines[test])
            chosen.append(test)
    return sorted(chosen)


def main(*tests: str) -> int:
    """Measures, and writes the list unless only some tests are named; returns the exit code of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_MEASURED] = folder
        failed = pytest.main(["-n", "2", "--dist", "worksteal", "-p", "tests.slow", *tests])
        found: dict[str, tuple[float, frozenset[tuple[str, int]]]] = {}
        for file in Path(folder).iterdir():
            found |= pickle.loads(file.read_bytes())
    text = "".join(f"{test}\n" for test in choose(found))
    if tests:
        print(text, end="")
    else:
        LIST.write_text(text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
