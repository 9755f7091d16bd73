"""A model asked from a thread that waits, as often as one message takes, until another thread ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.loop import LoopThread

if TYPE_CHECKING:
    from engine.providers.chat import ChatProvider, ChatReply

Take = Callable[[str], None]
"""Gets a piece of a reply."""


class Call:
    """A call that is made once; the provider's connections are closed afterwards.

    ``on_text`` gets the reply piece by piece, on the thread that waits.
    """

    def __init__(self, provider: ChatProvider, *, on_text: Take) -> None:
        self._provider = provider
        self._on_text = on_text
        self._said: list[str] = []
        self._loop = LoopThread()
        self._cancelled = threading.Event()
        self._running: Future[ChatReply] | None = None

    def make(self, exchange: Callable[[Take], ChatReply]) -> ChatReply:
        """The reply that an exchange comes to.

        Args:
            exchange: Asks by ``ask``, and is given what takes all that is said.

        Raises:
            SendFailed: There is none, or not all of it; ``partial`` is what had come.
        """
        try:
            return exchange(self._take)
        except CancelledError:
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
        finally:
            self._loop.close(self._provider.aclose)
        # Outside of the handlers: a chained traceback would lead to frames that hold the key.
        raise failure

    def ask(self, chat: Callable[[Take], Coroutine[Any, Any, ChatReply]], take: Take) -> ChatReply:
        """The reply of the provider.

        Args:
            chat: Asks it, on the loop, and is given what takes the reply piece by piece there.
            take: Gets these pieces, on this thread.

        Raises:
            CancelledError: It was ended.
        """
        pieces: SimpleQueue[str | None] = SimpleQueue()
        if self._cancelled.is_set():
            raise CancelledError
        running = self._running = self._loop.start(chat(pieces.put))
        if self._cancelled.is_set():  # meanwhile; no lock, for a signal may cancel on this thread
            running.cancel()
        running.add_done_callback(lambda _done: pieces.put(None))
        while (text := pieces.get()) is not None:
            take(text)
        return running.result()

    def forget(self) -> None:
        """What has come so far is written down, and is no part of what an error would hold."""
        self._said.clear()

    def cancel(self) -> None:
        """Ends it, from any thread; what has come so far is in the error that the waiting thread gets."""
        self._cancelled.set()
        if self._running is not None:
            self._running.cancel()

    @property
    def _text(self) -> str:
        return "".join(self._said)

    def _take(self, text: str) -> None:
        self._said.append(text)
        self._on_text(text)
