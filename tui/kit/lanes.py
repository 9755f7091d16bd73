"""Background work that does not pile up: one request in progress, and usually at most one waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from engine.errors import AutopoiesisError
from tui.render.figures import plural

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")


class Lane(Generic[Ask, Answer]):
    """Processes one request at a time on its own thread; requests made in the meantime are merged or queued.

    The thread is a daemon, so exiting the workbench never waits for a model or a disk. ``deliver`` and
    ``refuse`` are called on that thread and must only post messages.

    Args:
        deliver: Receives request and result; with the default ``merge``, only if no newer request came.
        refuse: Receives request and error.
        merge: Combines a waiting and a new request; by default, the newer one replaces the waiting one.
        in_turn: Process every request, in order.
    """

    def __init__(
        self,
        work: Callable[[Ask], Answer],
        deliver: Callable[[Ask, Answer], None],
        refuse: Callable[[Ask, str], None],
        merge: Callable[[Ask, Ask], Ask] | None = None,
        *,
        in_turn: bool = False,
    ) -> None:
        self._work = work
        self._deliver = deliver
        self._refuse = refuse
        self._merge = merge
        self._in_turn = in_turn
        self._lock = threading.Lock()
        self._waiting: list[Ask] = []
        self._running = False
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        with self._lock:
            return self._running

    def ask(self, question: Ask) -> None:
        """Submits a request and returns immediately."""
        with self._lock:
            if self._waiting and self._merge is not None:
                question = self._merge(self._waiting[0], question)
            self._waiting = [*self._waiting, question] if self._in_turn else [question]
            if self._running:
                return
            self._running = True
            self._thread = threading.Thread(target=self._run, name="workbench", daemon=True)
            self._thread.start()

    def drop(self) -> None:
        """Drops waiting requests; the current one is still delivered."""
        with self._lock:
            self._waiting = []

    def stop(self, deadline_s: float) -> None:
        """Drops waiting requests and gives the current one a moment to end."""
        self.drop()
        thread = self._thread
        if thread is not None:
            thread.join(deadline_s)

    def finish(self, deadline_s: float) -> int:
        """Waits for all requests; returns how many are left after the deadline."""
        thread = self._thread
        if thread is not None:
            thread.join(deadline_s)
        with self._lock:
            return len(self._waiting) + self._running

    def _take(self) -> list[Ask]:
        with self._lock:
            taken, self._waiting = self._waiting[:1], self._waiting[1:]
            if not taken:
                self._running = False
            return taken

    def _run(self) -> None:
        done = False
        try:
            while taken := self._take():
                self._do(taken[0])
            done = True
        finally:
            if not done:  # unexpected error; the next request starts a new thread
                with self._lock:
                    self._running = False

    def _do(self, question: Ask) -> None:
        try:
            answer = self._work(question)
        except (AutopoiesisError, OSError) as error:
            self._refuse(question, str(error))
            return
        except Exception as error:  # noqa: BLE001 — whoever waits for the answer must not wait forever
            self._refuse(question, f"{type(error).__name__}: {error}")
            return
        with self._lock:
            overtaken = bool(self._waiting) and self._merge is None and not self._in_turn
        if not overtaken:
            self._deliver(question, answer)


class Writes:
    def __init__(self) -> None:
        self._lanes: list[Lane[Any, Any]] = []
        self._problems: list[str] = []

    def leave(self, lanes: Iterable[Lane[Any, Any]]) -> None:
        """Takes over the lanes of a closed screen that are still busy."""
        self._lanes = [each for each in (*self._lanes, *lanes) if each.busy]

    def failed(self, problem: str) -> None:
        """Keeps an error that no screen can show; thread-safe."""
        self._problems.append(problem)

    def finish(self, deadline_s: float) -> list[str]:
        """Waits for the writes; returns what was not written and why."""
        until = time.monotonic() + deadline_s
        left = sum(lane.finish(max(0.0, until - time.monotonic())) for lane in self._lanes)
        late = [f"{plural(left, 'change')} could not be written in time"] if left else []
        return [*self._problems, *late]
