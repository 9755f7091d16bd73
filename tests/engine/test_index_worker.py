"""The index is refreshed in the background despite failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from engine.errors import IndexFailed
from engine.events import EngineEvent, ErrorReported, Indexed, IndexProgress
from engine.live.index_worker import IndexWorker
from engine.search.reports import IndexReport

NOW = datetime(2026, 6, 12, 8, tzinfo=UTC)


class Index:
    """Records refreshes and fails on request."""

    def __init__(self) -> None:
        self.refreshed: list[list[str] | None] = []
        self.failures = 0
        self.files = 100
        self.progressed = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        self.ended = False
        self.clock: Callable[[], datetime] = lambda: NOW

    def refresh_index(
        self, progress: Callable[[int, int], None] | None = None, paths: Iterable[str] | None = None
    ) -> IndexReport | None:
        self.refreshed.append(None if paths is None else list(paths))
        if self.failures:
            self.failures -= 1
            raise IndexFailed("the disk is full", where="memory.db")
        assert progress is not None
        if paths is not None:
            return IndexReport(changed=len(self.refreshed[-1] or ()))
        self.progressed.set()
        for done in range(self.files):
            self.go_on.wait()
            progress(done + 1, self.files)
        self.ended = True
        return IndexReport(added=self.files)


class Events:
    """Collects events and waits for them."""

    def __init__(self) -> None:
        self.events: list[EngineEvent] = []
        self._news = threading.Condition()

    def append(self, event: EngineEvent) -> None:
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def wait(self, event: EngineEvent) -> None:
        with self._news:
            assert self._news.wait_for(lambda: event in self.events, timeout=30), self.events


@contextmanager
def working(index: Index, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[IndexWorker, Events]]:
    monkeypatch.setattr("engine.live.index_worker.GATHER_S", 0.01)
    events = Events()
    worker = IndexWorker(index, events.append)
    worker.start()
    yield worker, events
    worker.stop()


def test_a_full_refresh_is_followed_by_incremental_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    with working(index, monkeypatch) as (worker, events):
        events.wait(Indexed(100))
        worker.changed(["b.md", "a.md", "b.md"])
        events.wait(Indexed(2))
    assert index.refreshed == [None, ["a.md", "b.md"]]
    progress = [event for event in events.events if isinstance(event, IndexProgress)]
    assert progress == [IndexProgress(done, 100) for done in (25, 50, 75, 100)]


def test_progress_is_not_reported_for_a_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    index.files = 49
    with working(index, monkeypatch) as (_, events):
        events.wait(Indexed(49))
    assert events.events == [Indexed(49)]


def test_after_a_failure_everything_is_refreshed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    index.failures = 1
    with working(index, monkeypatch) as (worker, events):
        events.wait(ErrorReported(NOW, str(IndexFailed("the disk is full", where="memory.db"))))
        worker.changed(["a.md"])
        events.wait(Indexed(100))
    assert index.refreshed == [None, None]


def test_stopping_does_not_wait_for_a_refresh_which_then_aborts(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    index.go_on.clear()
    with working(index, monkeypatch) as (worker, events):
        assert index.progressed.wait(timeout=30)
        worker.stop()
        assert worker._thread.is_alive()
        index.go_on.set()
        worker._thread.join(timeout=30)
        assert not worker._thread.is_alive()
    assert not index.ended
    assert events.events == []


def test_a_worker_that_was_never_started_can_be_stopped() -> None:
    IndexWorker(Index(), print).stop()
