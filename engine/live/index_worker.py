"""Keeping the search index fresh in the background while a workspace is followed."""

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
"""A burst of saves is one refresh: how long changes gather, seconds."""

LONG = 50
"""Files of one refresh from which its progress is told."""

_EVERY = 25
_JOIN_S = 5.0


class Indexing(Protocol):
    """What the work needs of an engine."""

    clock: Callable[[], datetime]

    def refresh_index(
        self, progress: Callable[[int, int], None] | None = None, paths: Iterable[str] | None = None
    ) -> IndexReport | None: ...


class _Stopped(Exception):
    """Ends a long refresh."""


class IndexWorker:
    """Refreshes the index: everything at first, then what is reported to have changed.

    ``publish`` is called from the worker thread.
    """

    def __init__(self, engine: Indexing, publish: Callable[[EngineEvent], None]) -> None:
        self._engine = engine
        self._publish = publish
        self._paths: set[str] = set()
        self._guard = threading.Lock()
        self._wanted = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="autopoiesis-index", daemon=True)

    def start(self) -> None:
        """Starts the thread, which looks at everything first."""
        self._wanted.set()
        self._thread.start()

    def stop(self) -> None:
        """Ends what is under way; what is not indexed yet is found missing the next time."""
        self._stop.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join(timeout=_JOIN_S)

    def changed(self, paths: Iterable[str]) -> None:
        """Has files indexed anew."""
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
                everything = True  # what was to be looked at is not known any more
                self._publish(ErrorReported(self._engine.clock(), str(error)))

    def _refresh(self, paths: list[str] | None) -> None:
        with contextlib.suppress(_Stopped):
            report = self._engine.refresh_index(self._progress, paths=paths)
            if report is not None and (files := report.added + report.changed + report.removed):
                self._publish(Indexed(files))

    def _progress(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise _Stopped
        if total >= LONG and (done == total or done % _EVERY == 0):
            self._publish(IndexProgress(done, total))
