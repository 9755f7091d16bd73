"""One call of a model from a thread that waits for it, and that another thread may end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError, SendFailed

if TYPE_CHECKING:
    from engine.providers.chat import ChatProvider, ChatReply

GRACE_S = 0.5
"""How long connections may take to close, seconds."""


class Call:
    """A call that is made once.

    Args:
        provider: Who is asked; its connections are closed afterwards.
        ask: Asks it, and is given what takes the reply piece by piece.
        on_text: Gets these pieces, on the thread that waits.
    """

    def __init__(
        self,
        provider: ChatProvider,
        ask: Callable[[Callable[[str], None]], Coroutine[Any, Any, ChatReply]],
        *,
        on_text: Callable[[str], None],
    ) -> None:
        self._provider = provider
        self._ask = ask
        self._on_text = on_text
        self._said: list[str] = []
        self._guard = threading.Lock()
        self._cancelled = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[ChatReply]] | None = None

    def wait(self) -> ChatReply:
        """The reply.

        Raises:
            SendFailed: There is none, or not all of it; ``partial`` is what had come.
        """
        try:
            return asyncio.run(self._chat())
        except asyncio.CancelledError:
            failure = SendFailed("stopped", where=self._provider.name, partial=self._text)
        except SendFailed as error:
            failure = error
            failure.partial = failure.partial or self._text
        except AutopoiesisError as error:
            failure = SendFailed(error.what, where=error.where, cure=error.cure, partial=self._text)
        except Exception as error:  # noqa: BLE001 — whatever a client's package raises, the reply so far is kept
            # It may quote what it was given, a key among it: only its name is told.
            failure = SendFailed(
                f"unexpected {type(error).__name__}", where=self._provider.name, partial=self._text
            )
        # Outside of the handlers: a chained traceback would lead to frames that hold the key.
        raise failure

    def forget(self) -> None:
        """What has come so far is written down, and is no part of what an error would hold."""
        self._said.clear()

    def cancel(self) -> None:
        """Ends it, from any thread; what has come so far is in the error that the waiting thread gets."""
        with self._guard:
            self._cancelled = True
            running = self._running
        if running is not None:
            loop, task = running
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(task.cancel)

    @property
    def _text(self) -> str:
        return "".join(self._said)

    async def _chat(self) -> ChatReply:
        task = asyncio.ensure_future(self._ask(self._take))
        with self._guard:
            self._running = (asyncio.get_running_loop(), task)
            if self._cancelled:
                task.cancel()
        try:
            return await task
        finally:
            with self._guard:
                self._running = None
            with contextlib.suppress(Exception):
                async with asyncio.timeout(GRACE_S):
                    await self._provider.aclose()

    def _take(self, text: str) -> None:
        self._said.append(text)
        self._on_text(text)
