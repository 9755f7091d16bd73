"""Messages of many clients, written down together: to sync the disk takes longer than all else about them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.transcripts.capture import ConversationCapture, Said

_MANY = 100
"""Messages a second from which background work is slowed."""
_WINDOW_S = 0.5
_LONGEST_S = 0.1

_Waiting = tuple["Sequence[Said]", "asyncio.Future[list[bool]]"]


class Writing:
    """While some messages are being written, those that come wait, and are then written at once.

    As many wait as there are connections. A message that cannot be written keeps no other from it.
    """

    def __init__(self, files: Files, capture: ConversationCapture) -> None:
        self._files = files
        self._capture = capture
        self._waiting: dict[str, list[_Waiting]] = {}
        self._since, self._count, self._rate = time.monotonic(), 0, 0.0
        self._task: asyncio.Task[None] | None = None

    async def say(self, session_id: str, said: Sequence[Said]) -> list[bool]:
        """Of each message whether it was written, once all of them are on disk; raises as ``capture.say``."""
        self._counted(len(said))
        future: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(session_id, []).append((said, future))
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        return await future

    def pace(self, worked_s: float) -> None:
        """Slows background work while many messages come: they are traced later, and none waits for that."""
        if self._rate > _MANY and time.monotonic() - self._since < 2 * _WINDOW_S:
            time.sleep(min(2 * worked_s, _LONGEST_S))

    def _counted(self, messages: int) -> None:
        self._count += messages
        past = time.monotonic() - self._since
        if past >= _WINDOW_S:
            self._since, self._count, self._rate = time.monotonic(), 0, self._count / past

    async def _write(self) -> None:
        waiting: dict[str, list[_Waiting]] = {}
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, {}
                done = await run_in_threadpool(self._all, waiting)
                for future, result in (pair for pairs in done for pair in pairs):
                    if future.done():  # the client has gone
                        continue
                    if isinstance(result, Exception):
                        future.set_exception(result)
                    else:
                        future.set_result(result)
        finally:
            self._task = None
            for _, future in (pair for each in waiting.values() for pair in each):
                future.cancel()  # nobody waits for ever, whatever has happened

    def _all(self, waiting: dict[str, list[_Waiting]]) -> list[list[tuple[Any, Any]]]:
        try:
            with self._files.lock():  # once: taking it anew for each session would be a third of the work
                return [self._of(*each) for each in waiting.items()]
        except AutopoiesisError as error:
            return [[(future, error) for _, future in each] for each in waiting.values()]

    def _of(self, session_id: str, waiting: list[_Waiting]) -> list[tuple[Any, Any]]:
        """What came of the messages of a session."""
        try:
            written = iter(self._capture.say(session_id, [each for said, _ in waiting for each in said]))
            return [(future, [next(written) for _ in said]) for said, future in waiting]
        except (AutopoiesisError, OSError, ValueError) as error:
            if len(waiting) == 1:
                return [(waiting[0][1], error)]
            # One of them is to blame: each has its own turn.
            return [pair for each in waiting for pair in self._of(session_id, [each])]
