"""Runs coroutines for model calls from threads, which cannot await.

The event loop has its own thread instead of ``asyncio.run``, which on exit waits for the loop's helper
threads, such as a hanging DNS lookup. Connections live as long as their loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

GRACE_S = 0.4
"""Seconds for cancelled tasks to finish, and for connections to close."""

T = TypeVar("T")


class LoopThread:
    """An event loop in a daemon thread that starts on first use. Safe to use from several threads."""

    def __init__(self, name: str = "model calls") -> None:
        self._name = name
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pending: set[Future[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts a coroutine; if the loop is closed, the future is already cancelled."""
        future: Future[T]
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
            self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def run(self, work: Coroutine[Any, Any, T], *, timeout: float | None = None) -> T | None:
        """Runs a coroutine; ``None`` if it takes more than ``timeout`` seconds or is cancelled."""
        future = self.start(work)
        try:
            return future.result(timeout)
        except (TimeoutError, CancelledError):
            return None
        finally:
            future.cancel()

    def close(self, cleanup: Callable[[], Awaitable[object]] | None = None) -> None:
        """Cancels everything in progress, then ends the thread. Takes at most a second.

        ``cleanup``, such as closing connections, still runs on the loop.
        """
        with self._guard:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            asyncio.run_coroutine_threadsafe(_finish(cleanup), loop)
            thread.join(1.0)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        finally:
            for future in tuple(self._pending):  # of tasks that resisted cancellation
                future.cancel()
            loop.close()


async def _finish(cleanup: Callable[[], Awaitable[object]] | None) -> None:
    loop = asyncio.get_running_loop()
    others = _others()
    # A task that is cancelled before its first step would never await its coroutine.
    await asyncio.sleep(0)
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=GRACE_S)
    for last in (cleanup, loop.shutdown_asyncgens):
        if last is not None:
            with suppress(Exception):
                async with asyncio.timeout(GRACE_S):
                    await last()
    # A generator that was left before its end, such as a stream of events, is closed in a task of its own,
    # which exists from the next step on.
    await asyncio.sleep(0)
    if closing := _others():
        await asyncio.wait(closing, timeout=GRACE_S)
    loop.stop()


def _others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}
