"""Refreshes the search index in the background while a workspace is open."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError
from engine.events import EngineEvent, ErrorReported, Indexed, IndexProgress

if TYPE_CHECKING:
    from engine.search.reports import IndexReport

GATHER_S = 0.3
"""Seconds for which changes are collected into one refresh."""

LONG = 50
"""Number of files from which a refresh reports its progress."""

_EVERY = 25
_JOIN_S = 0.5
"""Seconds to wait for a refresh to abort. If it takes longer, nobody waits: it aborts as soon as it can, or
with the process, and the index stays as it was before the batch at hand.
"""


class Indexing(Protocol):
    """What the worker needs from the engine."""

    clock: Callable[[], datetime]

    def refresh_index(
        self, progress: Callable[[int, int], None] | None = None, paths: Iterable[str] | None = None
    ) -> IndexReport | None: ...


class _Stopped(Exception):
    """Aborts a refresh."""


class IndexWorker:
    """Refreshes the index: everything at first, then the reported changes.

    ``publish`` is called from the worker thread.
    """

    def __init__(self, engine: Indexing, publish: Callable[[EngineEvent], None]) -> None:
        self._engine = engine
        self._publish = publish
        self._paths: set[str] = set()
        self._guard = threading.Lock()
        self._wanted = threading.Event()
        self._stop = threading.Event()
        self._told = 0
        """The number of files done last reported."""
        self._thread = threading.Thread(target=self._work, name="autopoiesis-index", daemon=True)

    def start(self) -> None:
        """Starts the thread and a full refresh."""
        self._wanted.set()
        self._thread.start()

    def stop(self) -> None:
        """Aborts the running refresh; the next start indexes what is missing."""
        self._stop.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join(timeout=_JOIN_S)

    def changed(self, paths: Iterable[str]) -> None:
        """Queues files for indexing."""
        with self._guard:
            self._paths.update(paths)
        self._wanted.set()

    def _work(self) -> None:
        everything = True
        while not self._stop.is_set():
            self._wanted.wait()
            self._wanted.clear()
            if self._stop.wait(GATHER_S):
                return
            with self._guard:
                paths, self._paths = self._paths, set()
            try:
                self._refresh(None if everything else sorted(paths))
                everything = False
            except (AutopoiesisError, OSError) as error:
                everything = True  # the changed paths are lost
                if self._stop.is_set():
                    return
                self._publish(ErrorReported(self._engine.clock(), str(error)))

    def _refresh(self, paths: list[str] | None) -> None:
        self._told = 0
        with contextlib.suppress(_Stopped):
            report = self._engine.refresh_index(self._progress, paths=paths)
            if report is not None and (files := report.added + report.changed + report.removed):
                self._publish(Indexed(files))

    def _progress(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise _Stopped
        if total >= LONG and done != self._told and (done == total or done >= self._told + _EVERY):
            self._told = done
            self._publish(IndexProgress(done, total))
