"""Pushes new commits in the background while a workspace is open, if ``git.auto_push`` is on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError
from engine.events import EngineEvent, ErrorReported

if TYPE_CHECKING:
    from engine.settings.model import Config
    from engine.sync.sync import Sync

GATHER_S = 2.0
"""Seconds for which commits are collected into one push."""

_JOIN_S = 5.0


class Pushing(Protocol):
    """What the worker needs from the engine."""

    config: Config
    clock: Callable[[], datetime]

    @property
    def sync(self) -> Sync: ...


class PushWorker:
    """Pushes after commits. It never merges: a rejected push is reported once.

    ``publish`` is called from the worker thread, which starts with the first push.
    """

    def __init__(self, engine: Pushing, publish: Callable[[EngineEvent], None]) -> None:
        self._engine = engine
        self._publish = publish
        self._wanted = threading.Event()
        self._stop = threading.Event()
        self._reported = ""
        self._thread = threading.Thread(target=self._work, name="autopoiesis-push", daemon=True)

    def committed(self) -> None:
        """Schedules a push."""
        settings = self._engine.config.git
        if not (settings.auto_push and settings.remote):
            return
        self._wanted.set()
        if self._thread.ident is None:
            self._thread.start()

    def stop(self) -> None:
        """Stops the thread; unpushed commits go with the next sync."""
        self._stop.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join(timeout=_JOIN_S)

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wanted.wait()
            if self._stop.wait(GATHER_S):
                return
            self._wanted.clear()
            problem = ""
            try:
                self._engine.sync.push()
            except (AutopoiesisError, OSError) as error:
                problem = f"git.auto_push: {error}"
            if problem and problem != self._reported:
                self._publish(ErrorReported(self._engine.clock(), problem))
            self._reported = problem
