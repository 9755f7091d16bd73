"""Asks a model in the background: one question, one deadline, errors as values."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.errors import AutopoiesisError
from engine.providers.attempts import timeout_error
from engine.providers.chat import ChatProvider, ChatReply, ChatRequest
from engine.providers.loop import LoopThread
from engine.providers.pricing import current


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a question."""

    completed: ChatReply | None
    error: str = ""  # why there is no reply, in one line
    lasting: bool = False  # every further question would fail the same way until a person changes something


class Question:
    """One question to a model, asked on an event loop in a separate thread."""

    def __init__(
        self, provider: ChatProvider, system: str, prompt: str, *, max_tokens: int, deadline_s: float
    ) -> None:
        self._provider = provider
        self._system = system
        self._prompt = prompt
        self._max_tokens = max_tokens
        self._deadline_s = deadline_s
        self._loop = LoopThread()
        self._given_up = False

    def answer(self) -> Answer:
        """Waits for the reply, at most a second past the deadline. Call it once."""
        deadline = self._deadline_s
        request = complete(
            self._provider, self._system, self._prompt, max_tokens=self._max_tokens, timeout=deadline
        )
        try:
            reply = self._loop.run(request, timeout=deadline)
        except AutopoiesisError as error:
            return Answer(None, str(error), error.lasting)
        except Exception as error:  # noqa: BLE001 — whatever a client library raises
            # Its message may quote the request, including a key: only the type is reported.
            return Answer(None, f"unexpected {type(error).__name__}")
        finally:
            self._loop.close(self._provider.aclose)
        if reply is not None:
            return Answer(reply)
        if self._given_up:
            return Answer(None, "cancelled: the workspace was closed")
        return Answer(None, str(timeout_error(self._provider.name, deadline, self._provider.purpose)))

    def give_up(self) -> None:
        """Cancels the request, from another thread."""
        self._given_up = True
        self._loop.close(self._provider.aclose)


async def complete(
    provider: ChatProvider, system: str, prompt: str, *, max_tokens: int, timeout: float
) -> ChatReply:
    """Requests the reply to one message, with its cost if the price is known.

    ``system`` may be empty; ``max_tokens`` is raised if the model refuses so few.

    Raises:
        AutopoiesisError: As ``ChatProvider.chat``.
    """
    request = ChatRequest((system,) if system else (), prompt, max_tokens, at_once=True)
    reply = await provider.chat(request, timeout=timeout)
    if reply.cost_usd is not None:
        return reply
    cost = current().cost(provider.model, reply.usage, elsewhere=bool(provider.address))
    return replace(reply, cost_usd=cost)
