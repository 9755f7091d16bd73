"""Background work that never piles up: one piece under way, and at most one waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from engine.errors import AutopoiesisError

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")


class Lane(Generic[Ask, Answer]):
    """Does one thing at a time on its own thread. What is asked meanwhile is merged into one next piece,
    or waits its turn.

    The thread is a daemon: leaving the workbench never waits for a model or a disk. ``deliver`` and
    ``refuse`` are called on that thread and must only post messages.

    Args:
        deliver: Gets the question and the answer; left out when a newer question came meanwhile and
            ``merge`` is the default.
        refuse: Gets the question and the error, where the work fails as engines may.
        merge: Makes one piece of a waiting and a new one; the default keeps the newest.
        in_turn: All that is asked is done, in order.
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
        """Whether something is under way or waiting."""
        with self._lock:
            return self._running

    def ask(self, question: Ask) -> None:
        """Asks for a piece of work and returns at once."""
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
        """Forgets what waits; the answer to what is under way is still delivered."""
        with self._lock:
            self._waiting = []

    def stop(self, deadline_s: float) -> None:
        """Forgets what waits and gives what is under way a moment to end."""
        self.drop()
        thread = self._thread
        if thread is not None:
            thread.join(deadline_s)

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
            if not done:  # the work failed in an unforeseen way; the next question starts afresh
                with self._lock:
                    self._running = False

    def _do(self, question: Ask) -> None:
        try:
            answer = self._work(question)
        except (AutopoiesisError, OSError) as error:
            self._refuse(question, str(error))
            return
        with self._lock:
            overtaken = bool(self._waiting) and self._merge is None and not self._in_turn
        if not overtaken:
            self._deliver(question, answer)
