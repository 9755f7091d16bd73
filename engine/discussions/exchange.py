"""A message's exchange with a model that may call tools; blocking, and cancellable from another thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError, SendFailed
from engine.providers.chat import ChatReply, Round, Usage
from engine.providers.loop import LoopThread

if TYPE_CHECKING:
    from engine.providers.chat import ChatProvider, ChatRequest, ToolUse

MOST = 4
"""Maximum number of tool rounds before the model has to reply."""

_ENOUGH = "\n\nNo further tool calls will be answered: reply to the message now."

Chat = Callable[["ChatRequest", float, Callable[[str], None]], Coroutine[Any, Any, "ChatReply"]]
"""Asks a model, on the loop: takes the request, the timeout in seconds and a callback for text pieces."""


class Exchange:
    """The model calls of one message; the provider's connections are closed afterwards.

    ``on_text`` gets each piece of text, on the waiting thread. ``answer`` runs a tool call. ``on_round`` gets
    a reply that called tools, their answers, and the next request before it is sent; an exception raised by
    it ends the exchange.
    """

    def __init__(
        self,
        provider: ChatProvider,
        request: ChatRequest,
        chat: Chat,
        *,
        on_text: Callable[[str], None],
        answer: Callable[[ToolUse], str],
        on_round: Callable[[ChatReply, Round, ChatRequest], None],
    ) -> None:
        self.done: list[tuple[ChatRequest, ChatReply]] = []
        """Requests and replies; the last reply may be incomplete."""
        self._provider = provider
        self._request = request
        self._chat = chat
        self._on_text = on_text
        self._answer = answer
        self._on_round = on_round
        self._said: list[str] = []  # of the reply in progress
        self._joint = ""  # separator before the next reply
        self._loop = LoopThread()
        self._cancelled = threading.Event()
        self._running: Future[ChatReply] | None = None

    def run(self, timeout: float) -> str:
        """Asks until the model calls no more tools, ``timeout`` seconds in all.

        Returns:
            Why the last reply is missing or incomplete; empty if it is complete.
        """
        ends = time.monotonic() + timeout
        try:
            while self._goes_on(max(0.0, ends - time.monotonic())):
                pass
        except CancelledError:
            failure = SendFailed("stopped", where=self._provider.name)
        except SendFailed as error:
            failure = error
        except AutopoiesisError as error:
            failure = SendFailed(error.what, where=error.where, hint=error.hint)
        except Exception as error:  # noqa: BLE001 — whatever a client's package raises, the reply so far is kept
            # The exception's text may quote its input, including a key, so only its type is reported.
            failure = SendFailed(f"unexpected {type(error).__name__}", where=self._provider.name)
        else:
            if self.done[-1][1].calls:
                return f"the model called tools {len(self.done)} times and did not reply"
            return "" if any(reply.text.strip() for _, reply in self.done) else "the reply is empty"
        finally:
            self._loop.close(self._provider.aclose)
        # What had come is paid for.
        text = failure.partial or "".join(self._said)
        broken = ChatReply(text, failure.usage or Usage(), self._provider.model)
        self.done.append((self._request, broken))
        return str(failure)

    def cancel(self) -> None:
        """Cancels the exchange, from any thread."""
        self._cancelled.set()
        if self._running is not None:
            self._running.cancel()

    def _goes_on(self, timeout: float) -> bool:
        """Asks once; returns whether to ask the model again."""
        request = self._request
        reply = self._reply(request, timeout)
        self.done.append((request, reply))
        count = len(request.rounds)
        if not reply.calls or not request.tools or count == MOST:
            return False
        last = _ENOUGH if count == MOST - 1 else ""
        answered = Round(reply.items, tuple((call, self._answer(call) + last) for call in reply.calls))
        following = replace(request, rounds=(*request.rounds, answered))
        self._said.clear()
        self._on_round(reply, answered, following)
        self._joint = "\n\n" if reply.text else self._joint
        self._request = following
        return True

    def _reply(self, request: ChatRequest, timeout: float) -> ChatReply:
        pieces: SimpleQueue[str | None] = SimpleQueue()
        if self._cancelled.is_set():
            raise CancelledError
        running = self._running = self._loop.start(self._chat(request, timeout, pieces.put))
        if self._cancelled.is_set():  # in the meantime; no lock, as a signal may cancel on this thread
            running.cancel()
        running.add_done_callback(lambda _done: pieces.put(None))
        while (text := pieces.get()) is not None:
            text, self._joint = self._joint + text, ""
            self._said.append(text)
            self._on_text(text)
        return running.result()
