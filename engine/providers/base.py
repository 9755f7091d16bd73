"""What a provider of completions is, whoever it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from engine.providers.keys import Purpose


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: The answer.
        input_tokens: All tokens sent, cached ones included; 0 when the service does not say.
        output_tokens: Tokens written; 0 likewise.
        model: The model that answered, as the service names it.
        cost_usd: Price of the call; ``None`` when it is not known.
        cut: The answer ended at the token limit.
        cached_tokens: Of the tokens sent, read from a cache.
        cache_write_tokens: Of them, written to one.
    """

    text: str
    input_tokens: int
    output_tokens: int
    model: str
    cost_usd: float | None = None
    cut: bool = False
    cached_tokens: int = 0
    cache_write_tokens: int = 0


class CompletionProvider(Protocol):
    """A service that completes a prompt.

    Attributes:
        name: As the settings call it.
        model: The model asked.
        address: The server asked; empty for the provider's own.
        purpose: What it is asked for, whose settings its errors name.
    """

    purpose: Purpose

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def address(self) -> str: ...

    async def complete(
        self, system: str, prompt: str, *, max_tokens: int, temperature: float, timeout: float
    ) -> Completion:
        """One completion.

        Args:
            system: Instructions to the model.
            prompt: What it answers.
            max_tokens: Longest answer; raised where the model refuses so few.
            temperature: Sent only to models that take it.
            timeout: Seconds for everything together, retries and their pauses included.

        Raises:
            GateError: There is no completion; the message says why and what to do, and never holds a key.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
        ...


class Closable(Protocol):
    """A client of a service."""

    def close(self) -> Awaitable[None]: ...


Client = TypeVar("Client", bound=Closable)


class Connections(Generic[Client]):
    """One client per event loop, made when it is first needed.

    A client's connections belong to the loop they were opened on. Making one imports its package and reads
    the system's certificates, which takes up to two seconds: that happens in a thread.

    Args:
        connect: Makes a client.
    """

    def __init__(self, connect: Callable[[], Client]) -> None:
        self._connect = connect
        self._clients: dict[asyncio.AbstractEventLoop, asyncio.Future[Client]] = {}

    async def get(self) -> Client:
        """The client of the running loop.

        Raises:
            GateError: As ``connect``; it is tried again the next time.
        """
        loop = asyncio.get_running_loop()
        for other in [other for other in self._clients if other.is_closed()]:
            del self._clients[other]
        making = self._clients.get(loop)
        if making is None or (making.done() and (making.cancelled() or making.exception() is not None)):
            making = self._clients[loop] = asyncio.ensure_future(asyncio.to_thread(self._connect))
        return await asyncio.shield(making)

    async def close(self) -> None:
        """Closes the connections of the running loop."""
        made = self._clients.pop(asyncio.get_running_loop(), None)
        if made is not None and made.done() and not made.cancelled() and made.exception() is None:
            await made.result().close()


def count_of(value: object) -> int:
    """A token count from outside: a number that is not negative, else 0."""
    return value if isinstance(value, int) and value > 0 else 0
