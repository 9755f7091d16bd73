"""The one way from threads, which cannot await, to the event loop on which models are asked.

A loop of its own in a thread of its own, and not ``asyncio.run``: that waits at its end for the loop's helper
threads, such as a name look-up that hangs. Connections live as long as their loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

GRACE_S = 0.4
"""How long what is cancelled may take to let go, and connections to close, seconds."""

Answer = TypeVar("Answer")


class LoopThread:
    """An event loop in a daemon thread that starts with the first work. Safe to use from several threads."""

    def __init__(self, name: str = "model calls") -> None:
        self._name = name
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._under_way: set[Future[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        """Begins some work; the future is cancelled where the loop has been closed."""
        future: Future[Answer]
        with self._guard:
            if self._closed:
                work.close()
                future = Future()
                future.cancel()
                return future
            if self._thread is None or not self._thread.is_alive():  # in a forked child it is not
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._serve, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            assert self._loop is not None
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def run(self, work: Coroutine[Any, Any, Answer], *, timeout: float | None = None) -> Answer | None:
        """What some work gives; ``None`` when it is not there in ``timeout`` seconds or was given up."""
        future = self.start(work)
        try:
            return future.result(timeout)
        except (TimeoutError, CancelledError):
            return None
        finally:
            future.cancel()

    def close(self, last: Callable[[], Awaitable[object]] | None = None) -> None:
        """Gives up what is under way, then ends the thread. Takes a second at most.

        ``last`` is still done on the loop, such as closing connections.
        """
        with self._guard:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            asyncio.run_coroutine_threadsafe(_finish(last), loop)
            thread.join(1.0)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        finally:
            for future in tuple(self._under_way):  # of work that would not let go
                future.cancel()
            loop.close()


async def _finish(last: Callable[[], Awaitable[object]] | None) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.sleep(
        0
    )  # what a task was given to await is lost where it is cancelled before its first step
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=GRACE_S)
    if last is not None:
        with suppress(Exception):
            async with asyncio.timeout(GRACE_S):
                await last()
    asyncio.get_running_loop().stop()
