"""Requests and replies: the one protocol of all chat providers (design 5).

A compiled prompt is sent as its stable prefix, in pieces after which a cache may end, and the rest; a
completion is a chat of one message. Each provider requests caching in its own way; usage has the same form
for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from engine.providers.keys import Purpose

Ttl = Literal["5m", "1h"]
"""Requested cache lifetime, from its last use."""

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
    """A call of a tool by a model."""

    name: str
    arguments: Any  # read from JSON; ``None`` where that cannot be read
    id: str = ""  # what the service tells calls apart by; empty where it does not


@dataclass(frozen=True, slots=True)
class Round:
    """A reply with tool calls, and the tools' answers."""

    items: tuple[Mapping[str, Any], ...]  # the reply in the service's own form, to be sent back as it came
    answers: tuple[tuple[ToolUse, str], ...]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request: prefix and rest joined are the prompt."""

    prefix: tuple[str, ...]
    """The stable prefix in pieces; a cache may end after each. At most three, none of them empty."""
    rest: str  # what follows it, the message included; not empty
    max_tokens: int  # of the reply
    ttl: Ttl | None = None  # how long a cache is asked to stay; ``None`` to ask for none
    cache_key: str = ""
    """What requests with the same prefix have in common, for services that route by it; no content, no name
    of a person. Empty for none."""
    cached_content: str = ""
    """The name of a cache that the service holds for exactly this prefix and these tools; empty for none."""
    tools: tuple[Tool, ...] = ()  # what the model may call, where the service ``takes_tools``
    rounds: tuple[Round, ...] = ()  # what it has called since the message, oldest first
    at_once: bool = False
    """The reply is wanted whole and soon: not in pieces, at temperature 0 and without thinking first,
    wherever a model can be told so. Such a request has neither tools nor caches."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, the same for all services (``cache-friendly-context.md`` 3.1)."""

    input_tokens: int = 0  # all that were sent, those of the cache included
    cached_tokens: int = 0  # of these, read from a cache
    cache_write_tokens: int = 0  # of these, written to a cache, for however long
    cache_write_1h_tokens: int = 0  # of those written, the ones that stay an hour
    output_tokens: int = 0  # thinking included


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's reply."""

    text: str
    usage: Usage  # zeros where the service does not say
    model: str  # as the service names it
    cut: bool = False  # it ended at the token limit
    cost_usd: float | None = None
    """What the service itself says that the call cost, of a completion what it costs by the table of prices
    otherwise; ``None`` where neither is known."""
    calls: tuple[ToolUse, ...] = ()  # the tools that the model waits for
    items: tuple[Mapping[str, Any], ...] = ()  # the reply as ``Round.items``, where it has calls


class Asked(Protocol):
    """A service that is asked."""

    @property
    def name(self) -> str:
        """As the settings call it."""
        ...

    @property
    def model(self) -> str: ...

    @property
    def address(self) -> str:
        """The server asked; empty for the provider's own."""
        ...


class ChatProvider(Asked, Protocol):
    """A service that answers prompts."""

    @property
    def purpose(self) -> Purpose:
        """What it is asked for; every error names the settings of this."""
        ...

    @property
    def takes_tools(self) -> bool:
        """Whether its models can be offered tools, as far as is known."""
        ...

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        """One reply, streamed.

        Cancelling the task ends the call within a second. Failures are retried only while no text has
        arrived. For a request at once, a refusal by the model is an error.

        Args:
            timeout: Seconds in total, including retries and pauses.
            on_text: Gets each piece of the reply as it arrives; joined they are its text.

        Raises:
            AutopoiesisError: That of the purpose: there is no whole reply; the message says why and what to
                do, and never holds a key. Of a ``SendFailed``, ``partial`` is the text that had come,
                ``usage`` what it took.
        """
        ...

    async def aclose(self) -> None:
        """Closes the connections that were opened on the running event loop."""
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
