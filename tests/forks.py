"""Runs tests in forks of the process that collected them: ``pytest --forks``.

Collecting all tests takes as long as running a thousand of them, and pytest-xdist does it in each worker.
"""

from __future__ import annotations

import importlib
import itertools
import os
import signal
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any, NoReturn, cast

import pytest

ONE_BY_ONE = 0.1
"""The share of tests given out one by one, so that all workers end together; before them, whole files."""
MANY = 1_000
"""Tests of which some surely need each of the packages below."""
SLOW_IMPORTS = ("anthropic", "openai")
"""Imported by no test file, but by the program in each worker; once here is enough."""
_NUMBER = 4
"""Bytes of a group's number in the pipe from which the workers take their work."""


class Forks:
    """The plugin of the process that collects and reports."""

    def __init__(self, config: pytest.Config, workers: int) -> None:
        self.config = config
        self.workers = workers

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or self.config.option.collectonly or len(session.items) < 2:
            return None  # as without this plugin
        if len(session.items) > MANY:
            for name in SLOW_IMPORTS:
                importlib.import_module(name)
        groups = list(_groups(session.items))
        work, given = os.pipe()
        os.write(given, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(groups))))
        os.close(given)
        self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        running: dict[connection.Connection, tuple[int, pytest.Item | None]] = {}
        for number in range(self.workers):
            reading, writing = connection.Pipe(duplex=False)
            if not (child := os.fork()):
                reading.close()
                _Worker(self.config, writing).work(session, number, work, groups)
            writing.close()
            running[reading] = child, None
        try:
            self._report(session, running)
        finally:
            for child, _ in running.values():
                os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)
        return True

    def _report(
        self, session: pytest.Session, running: dict[connection.Connection, tuple[int, pytest.Item | None]]
    ) -> None:
        hook = self.config.hook
        items = {item.nodeid: item for item in session.items}
        while running:
            for each in cast("list[connection.Connection]", connection.wait(list(running))):
                child, item = running[each]
                try:
                    what, told = each.recv()
                except EOFError:
                    del running[each]
                    os.waitpid(child, 0)
                    if item is not None:
                        died = "the process that ran this test ended"
                        hook.pytest_runtest_logreport(
                            report=pytest.TestReport(item.nodeid, item.location, {}, "failed", died, "call")
                        )
                    continue
                if what == "report":
                    report = hook.pytest_report_from_serializable(config=self.config, data=told)
                    hook.pytest_runtest_logreport(report=report)
                elif what == "warning":
                    hook.pytest_warning_recorded.call_historic(kwargs=told)
                else:
                    running[each] = child, items.get(told)
                if session.shouldfail or session.shouldstop:
                    return


class _Worker:
    """The plugin of a fork: sends what happens to the process that reports."""

    def __init__(self, config: pytest.Config, to: Any) -> None:
        self.config = config
        self.to = to

    def work(
        self, session: pytest.Session, number: int, work: int, groups: list[list[pytest.Item]]
    ) -> NoReturn:
        """Runs groups of tests until none is left, and ends the process."""
        try:
            os.environ["PYTEST_XDIST_WORKER"] = f"gw{number}"
            factory = self.config._tmp_path_factory  # type: ignore[attr-defined]
            factory._basetemp = factory.getbasetemp() / f"gw{number}"
            factory._basetemp.mkdir()
            plugins = self.config.pluginmanager
            plugins.unregister(name="terminalreporter")
            capture: Any = plugins.getplugin("capturemanager")
            capture.stop_global_capturing()  # the others write to the same files
            capture.start_global_capturing()
            plugins.register(self)
            taken = (item for group in _taken(work, groups) for item in group)
            for item, following in itertools.pairwise(itertools.chain(taken, [None])):
                assert item is not None
                self.to.send(("start", item.nodeid))
                self.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.shouldfail or session.shouldstop:
                    break
            self.to.send(("start", ""))
        finally:
            os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.to.send(("report", data))

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        told = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        self.to.send(("warning", told))


def _groups(items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """Tests of one file stay together, and with them what they share, except for the last."""
    count = 0
    for _, group in itertools.groupby(items, lambda item: item.path):
        tests = list(group)
        count += len(tests)
        yield from [tests] if count < len(items) * (1 - ONE_BY_ONE) else ([test] for test in tests)


def _taken(work: int, groups: list[list[pytest.Item]]) -> Iterator[list[pytest.Item]]:
    while number := os.read(work, _NUMBER):
        yield groups[int.from_bytes(number, "big")]
