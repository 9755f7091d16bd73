"""Batched writing of messages from many clients, because syncing the disk takes most of the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.transcripts.capture import ConversationCapture, NewMessage

_BUSY_RATE = 100
"""Messages per second above which background work is slowed down."""
_WINDOW_S = 0.5
_MAX_PAUSE_S = 0.1

_Request = tuple["Sequence[NewMessage]", "asyncio.Future[list[bool]]"]


class MessageWriter:
    """Writes messages in batches: those that arrive during a write are written together afterwards.

    A message that cannot be written does not affect the others.
    """

    def __init__(self, files: Files, capture: ConversationCapture) -> None:
        self._files = files
        self._capture = capture
        self._pending: dict[str, list[_Request]] = {}
        self._since, self._count, self._rate = time.monotonic(), 0, 0.0
        self._task: asyncio.Task[None] | None = None

    async def write(self, session_id: str, messages: Sequence[NewMessage]) -> list[bool]:
        """Whether each message was written, once they are on disk; raises like ``capture.say``."""
        self._count_messages(len(messages))
        future: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._pending.setdefault(session_id, []).append((messages, future))
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        return await future

    def pace(self, worked_s: float) -> None:
        """Slows background work down while many messages arrive, so that tracing does not delay them."""
        if self._rate > _BUSY_RATE and time.monotonic() - self._since < 2 * _WINDOW_S:
            time.sleep(min(2 * worked_s, _MAX_PAUSE_S))

    def _count_messages(self, messages: int) -> None:
        self._count += messages
        elapsed = time.monotonic() - self._since
        if elapsed >= _WINDOW_S:
            self._since, self._count, self._rate = time.monotonic(), 0, self._count / elapsed

    async def _write(self) -> None:
        batch: dict[str, list[_Request]] = {}
        try:
            while self._pending:
                batch, self._pending = self._pending, {}
                done = await run_in_threadpool(self._write_batch, batch)
                for future, result in (pair for pairs in done for pair in pairs):
                    if future.done():  # the client has disconnected
                        continue
                    if isinstance(result, Exception):
                        future.set_exception(result)
                    else:
                        future.set_result(result)
        finally:
            self._task = None
            for _, future in (request for requests in batch.values() for request in requests):
                future.cancel()  # so that no client waits forever

    def _write_batch(self, batch: dict[str, list[_Request]]) -> list[list[tuple[Any, Any]]]:
        try:
            with self._files.lock():  # locking per session would be a third of the work
                return [self._write_session(*each) for each in batch.items()]
        except AutopoiesisError as error:
            return [[(future, error) for _, future in requests] for requests in batch.values()]

    def _write_session(self, session_id: str, requests: list[_Request]) -> list[tuple[Any, Any]]:
        """The future and result, or error, of each request of a session."""
        try:
            every = [message for messages, _ in requests for message in messages]
            written = iter(self._capture.append(session_id, every))
            return [(future, [next(written) for _ in messages]) for messages, future in requests]
        except (AutopoiesisError, OSError, ValueError) as error:
            if len(requests) == 1:
                return [(requests[0][1], error)]
            # One request caused the error: write them one by one.
            return [pair for each in requests for pair in self._write_session(session_id, [each])]
