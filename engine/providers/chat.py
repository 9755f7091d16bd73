"""Requests, replies and the protocol of all chat providers (design 5).

A compiled prompt is sent as its stable prefix, in pieces that may each end with a cache breakpoint, and the
rest; a completion is a chat of one message. Each provider requests caching in its own way; usage is reported
in the same form for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from engine.errors import SendFailed
from engine.providers.keys import Purpose

Ttl = Literal["5m", "1h"]
"""Requested lifetime of a cache after its last use."""

TTL_SECONDS: dict[Ttl, int] = {"5m": 300, "1h": 3600}


class Tool(Protocol):
    """A function that a model may call."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON schema of its arguments."""
        ...


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call by a model."""

    name: str
    arguments: Any  # parsed JSON; ``None`` if it is invalid
    id: str = ""  # the service's id of the call; empty if it has none


@dataclass(frozen=True, slots=True)
class Round:
    """A reply with tool calls, and the tools' answers."""

    items: tuple[Mapping[str, Any], ...]  # the reply in the service's own format, to be sent back unchanged
    answers: tuple[tuple[ToolUse, str], ...]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request; the prompt is the prefix followed by the rest."""

    prefix: tuple[str, ...]
    """The stable prefix in pieces; a cache may end after each. At most three, none of them empty."""
    rest: str  # everything after the prefix, including the message; not empty
    max_tokens: int  # of the reply
    ttl: Ttl | None = None  # requested lifetime of the cache; ``None`` for no cache
    cache_key: str = ""
    """Shared by requests with the same prefix, for services that route by it; must not contain any content or
    a person's name. Empty for none."""
    cached_content: str = ""
    """The name of a stored cache of exactly this prefix and these tools; empty for none."""
    tools: tuple[Tool, ...] = ()  # offered to the model if the service ``takes_tools``
    rounds: tuple[Round, ...] = ()  # tool calls since the message, oldest first
    at_once: bool = False
    """The reply is wanted whole and soon: not streamed, at temperature 0 and without thinking, as far as the
    model allows. Such a request has neither tools nor caches."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, in the same form for all services (``cache-friendly-context.md`` 3.1)."""

    input_tokens: int = 0  # including cached ones
    cached_tokens: int = 0  # of the input, read from a cache
    cache_write_tokens: int = 0  # of the input, written to a cache with any lifetime
    cache_write_1h_tokens: int = 0  # of those written, with a lifetime of one hour
    output_tokens: int = 0  # including thinking


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's reply."""

    text: str
    usage: Usage  # zeros if the service does not report it
    model: str  # as reported by the service
    cut: bool = False  # it ended at the token limit
    cost_usd: float | None = None
    """The cost reported by the service, otherwise, for a completion, the cost by the price table; ``None`` if
    neither is known."""
    calls: tuple[ToolUse, ...] = ()  # the tool calls the model is waiting for
    items: tuple[Mapping[str, Any], ...] = ()  # the reply as ``Round.items``, if it has calls


class ModelService(Protocol):
    """A model on a server."""

    @property
    def name(self) -> str:
        """The provider's name in the settings."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def address(self) -> str:
        """The server's address; empty for the provider's own."""
        ...


class ChatProvider(ModelService, Protocol):
    """A service that answers prompts."""

    @property
    def purpose(self) -> Purpose:
        """The use; errors name its settings."""
        ...

    @property
    def takes_tools(self) -> bool:
        """Whether its models accept tools, as far as is known."""
        ...

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """Requests one reply.

        Cancelling the task ends the call within a second. Failures are retried only until text has arrived.
        With ``at_once``, a refusal by the model is an empty reply.

        Args:
            timeout: Seconds in total, including retries and pauses.
            on_text: Called with each piece of the reply as it arrives; joined, they are its text.

        Raises:
            AutopoiesisError: The purpose's error: the reply is missing or incomplete. The message says why
                and what to do, and never contains a key. In a ``SendFailed``, ``partial`` is the text
                received so far and ``usage`` the tokens used.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections opened on the running event loop."""
        ...


class Spending(Protocol):
    """The account that calls are charged to."""

    def allow(self) -> None:
        """Checks that the budget covers a call.

        Raises:
            AutopoiesisError: The budget is spent.
        """
        ...

    def spent(self, completed: ChatReply, topics: Sequence[str], discussion: str) -> object:
        """Records a call; never raises. Both may touch the disk."""
        ...


class CacheGone(SendFailed):
    """The named cache no longer exists, or not for this model; create a new one."""


class StoredCache(NamedTuple):
    """A cache as reported by the service."""

    name: str  # for ``ChatRequest.cached_content``
    expires_at: datetime  # UTC
    tokens: int  # 0 if the service does not report them


@runtime_checkable
class NamedCaches(ChatProvider, Protocol):
    """A provider whose service offers named caches; their storage is billed while they exist."""

    async def create_cache(self, request: ChatRequest, ttl_s: int, *, timeout: float) -> StoredCache:
        """Stores the prefix and the tools of a request for ``ttl_s`` seconds. If the response is lost, it may
        exist, unused, until then.

        Raises:
            SendFailed: It was not stored, as far as is known.
        """
        ...

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        """Deletes a cache; does nothing if it no longer exists.

        Raises:
            SendFailed: The service did not answer; the cache may remain until it expires.
        """
        ...
