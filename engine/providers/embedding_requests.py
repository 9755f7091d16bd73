"""How an embedder's requests run: on a loop of their own, and not while the model rests after a failure."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from engine.errors import EmbeddingFailed

FIRST_REST_S, LONGEST_REST_S = 5.0, 60.0
"""Seconds for which a model that failed is asked for no query's vector; each time twice as long."""

Result = TypeVar("Result")


class Rest:
    """Keeps a model that failed from being asked for every query in a row."""

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self._guard = threading.Lock()
        self._until = 0.0
        self._next_s = FIRST_REST_S
        self._why = ("", "", "")

    def observe(self) -> None:
        """Does nothing, or fails as the model did while it rests."""
        with self._guard:
            what, where, cure = self._why
            left = self._until - self.clock()
        if left > 0:
            raise EmbeddingFailed(f"{what}, and is asked again in {left:.0f} s", where=where, cure=cure)

    def note(self, failure: EmbeddingFailed) -> None:
        """Begins a rest."""
        with self._guard:
            self._why = (failure.what, failure.where, failure.cure)
            self._until = self.clock() + self._next_s
            self._next_s = min(2 * self._next_s, LONGEST_REST_S)

    def end(self) -> None:
        """Forgets that the model ever failed."""
        with self._guard:
            self._until, self._next_s = 0.0, FIRST_REST_S


class RequestLoop:
    """An event loop in a thread of its own, which starts with the first request."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, request: Coroutine[Any, Any, Result]) -> Result:
        """What a request gives.

        Raises:
            EmbeddingFailed: As the request; also when the loop is closed.
        """
        with self._guard:
            if self._closed:
                request.close()
                raise EmbeddingFailed("it was ended")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_turn, args=(self._loop,), name="embedding requests", daemon=True
                )
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(request, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise
        except concurrent.futures.CancelledError:
            pass
        raise EmbeddingFailed("it was ended")

    def close(self, last: Any) -> None:
        """Ends all requests, then runs ``last`` and ends the thread."""
        with self._guard:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return

        async def finish() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await last()
            loop.stop()

        asyncio.run_coroutine_threadsafe(finish(), loop)
        thread.join(timeout=2.0)


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
