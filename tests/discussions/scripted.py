"""A fake provider with scripted replies, and fake bills."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from engine.discussions.sending import Bills
from engine.errors import AutopoiesisError, CostLimit
from engine.providers.chat import ChatReply, ChatRequest, ModelService, Usage
from engine.providers.keys import CHAT, Purpose

Reply = str | ChatReply | BaseException


@dataclass
class Scripted:
    """Streams one scripted reply per request, a few characters at a time.

    Attributes:
        replies: The replies, in order; an exception is raised after streaming ``first``.
        first: The text streamed before an exception.
        hangs: Whether replies never end.
        asked: The requests received.
        closed: How often the provider was closed.
        caching: Whether it caches prefixes as a real provider would.
    """

    replies: list[Reply] = field(default_factory=lambda: ["Good morning."])
    first: str = ""
    hangs: bool = False
    name: str = "anthropic"
    model: str = "claude-sonnet-5-5"
    address: str = ""
    takes_tools: bool = False
    purpose: Purpose = CHAT
    asked: list[ChatRequest] = field(default_factory=list)
    closed: int = 0
    caching: bool = True
    kept: set[str] = field(default_factory=set)

    async def chat(
        self, request: ChatRequest, *, timeout: float, on_text: Callable[[str], None] = lambda _text: None
    ) -> ChatReply:
        self.asked.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        text = reply.text if isinstance(reply, ChatReply) else self.first if _is_error(reply) else str(reply)
        for piece in _chunks(text):
            on_text(piece)
            await asyncio.sleep(0)
        if isinstance(reply, BaseException):
            raise reply
        if self.hangs:
            await asyncio.sleep(3600)
        return (
            reply if isinstance(reply, ChatReply) else ChatReply(text, self._usage(request, text), self.model)
        )

    async def aclose(self) -> None:
        self.closed += 1

    def _usage(self, request: ChatRequest, text: str) -> Usage:
        """Counts one token per character; a prefix sent before is a cache read, the rest a cache write."""
        whole = "".join(request.prefix)
        if not (self.caching and request.ttl and whole):
            return Usage(input_tokens=len(whole) + len(request.rest), output_tokens=len(text))
        ends = ["".join(request.prefix[: count + 1]) for count in range(len(request.prefix))]
        read = max((len(end) for end in ends if end in self.kept), default=0)
        self.kept.update(ends)
        return Usage(
            input_tokens=len(whole) + len(request.rest),
            cached_tokens=read,
            cache_write_tokens=len(whole) - read,
            output_tokens=len(text),
        )


@dataclass
class Purse(Bills):
    """Bills without a log; a million characters cost a dollar."""

    least: int = 10
    spent_up: bool = False
    left: float | None = None
    asked: list[tuple[int, int]] = field(default_factory=list)
    estimated: list[bool] = field(default_factory=list)
    calls: list[tuple[str, str, str, Usage]] = field(default_factory=list)
    storage: list[tuple[str, str, int, float]] = field(default_factory=list)

    def allow(self, service: ModelService, input_tokens: int = 0, output_tokens: int = 0) -> None:
        self.asked.append((input_tokens, output_tokens))
        cost = (input_tokens + output_tokens) / 1e6
        if self.left is not None and cost > self.left and service.name != "local":
            raise CostLimit(f"this call may cost {cost}", where="costs.daily_usd", hint="raise it")
        if self.spent_up and service.name != "local":
            raise CostLimit(
                "2.00 of 2.00 dollars of today are spent", where="costs.daily_usd", hint="raise it"
            )

    def least_cacheable(self, service: ModelService) -> int:
        return self.least

    def stored(self, service: ModelService, discussion: str, tokens: int, seconds: float) -> float | None:
        self.storage.append((service.name, discussion, tokens, seconds))
        return tokens * seconds / 1e9

    def spent(
        self, service: ModelService, reply: ChatReply, discussion: str, *, estimated: bool = False
    ) -> float | None:
        self.estimated.append(estimated)
        self.calls.append((service.name, reply.model, discussion, reply.usage))
        return reply.cost_usd if reply.cost_usd is not None else reply.usage.input_tokens / 1e6


def _is_error(reply: Reply) -> bool:
    return isinstance(reply, BaseException | AutopoiesisError)


def _chunks(text: str) -> Iterator[str]:
    for start in range(0, len(text), 7):
        yield text[start : start + 7]
