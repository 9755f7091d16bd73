"""Chats with Anthropic's Messages API, through its own client.

The stable prefix goes into system blocks, each marked as the end of a cache (``cache-friendly-context.md``
3.1); the rest is the one message of the user.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.providers.anthropic import AnthropicService
from engine.providers.attempts import ServiceFailure
from engine.providers.base import count_of
from engine.providers.chat import ChatRequest, Usage
from engine.providers.chat_network import ChatNetwork, Told, lower_limit
from engine.providers.network import transport_errors, transport_failure

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import CacheControlEphemeralParam, TextBlockParam

BREAKPOINTS = 3
"""Caches that a request may end, at most; the service allows four."""

_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that servers and models differ in."""

    marks: Literal["ttl", "plain", "none"] = "ttl"
    most_tokens: int | None = None


class AnthropicChat(AnthropicService, ChatNetwork[Form, "AsyncAnthropic"]):
    """Chats with a Claude model."""

    async def count(self, request: ChatRequest, *, timeout: float) -> int | None:
        """As ``ChatProvider.count``.

        Raises:
            SendFailed: The service did not answer.
        """

        async def ask(client: AsyncAnthropic) -> int:
            from anthropic import omit  # noqa: PLC0415 — imported with the client

            found = await client.messages.count_tokens(
                model=self.model,
                system=_system(request, None) or omit,
                messages=[{"role": "user", "content": request.rest}],
            )
            return int(found.input_tokens)

        return await self._asked(ask, timeout)

    def _first_form(self) -> Form:
        return Form()

    async def _stream(self, form: Form, request: ChatRequest, told: Told) -> AsyncGenerator[str, None]:
        client = await self._connections.get()
        from anthropic import omit  # noqa: PLC0415 — imported with the client

        stream = await client.messages.create(
            model=self.model,
            max_tokens=min(request.max_tokens, form.most_tokens or request.max_tokens),
            system=_system(request, _mark(form, request)) or omit,
            messages=[{"role": "user", "content": request.rest}],
            stream=True,
        )
        seen: dict[str, int] = {}
        async with stream:
            async for event in stream:
                told.has_begun = True
                match event.type:
                    case "message_start":
                        told.model = str(event.message.model)
                        _note(event.message.usage, seen, told)
                    case "content_block_start" if event.content_block.type == "text":
                        yield event.content_block.text
                    case "content_block_delta" if event.delta.type == "text_delta":
                        yield event.delta.text
                    case "message_delta":
                        told.cut = event.delta.stop_reason in ("max_tokens", "model_context_window_exceeded")
                        told.declined = "refusal" if event.delta.stop_reason == "refusal" else ""
                        _note(event.usage, seen, told)
                    case "message_stop":
                        told.has_ended = True
                        return

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        said = failure.said.lower()
        if "cache_control" in said or "ttl" in said:
            # Servers with this interface may know no caches, or none for an hour.
            match form.marks:
                case "ttl":
                    return replace(form, marks="plain")
                case "plain":
                    return replace(form, marks="none")
        if "max_tokens" in said:
            allowed = lower_limit(said, form.most_tokens or request.max_tokens)
            return None if allowed is None else replace(form, most_tokens=allowed)
        return None

    def _errors(self) -> tuple[type[Exception], ...]:
        return (*super()._errors(), *transport_errors())

    def _failure(self, error: Exception) -> ServiceFailure:
        is_transport = isinstance(error, transport_errors())
        return transport_failure(error) if is_transport else super()._failure(error)


def _mark(form: Form, request: ChatRequest) -> CacheControlEphemeralParam | None:
    if request.ttl is None or form.marks == "none":
        return None
    return {"type": "ephemeral", "ttl": request.ttl} if form.marks == "ttl" else {"type": "ephemeral"}


def _system(request: ChatRequest, mark: CacheControlEphemeralParam | None) -> list[TextBlockParam]:
    """The prefix as blocks, of which the last ones that may are the ends of caches."""
    blocks: list[TextBlockParam] = [{"type": "text", "text": piece} for piece in request.prefix]
    if mark is not None:
        for block in blocks[-BREAKPOINTS:]:
            block["cache_control"] = mark
    return blocks


def _note(usage: object, seen: dict[str, int], told: Told) -> None:
    """Takes over what an event says of tokens: later counts stand for the whole call, as the first do."""
    for name in _COUNTS:
        if isinstance(value := getattr(usage, name, None), int):
            seen[name] = count_of(value)
    written = getattr(usage, "cache_creation", None)
    if written is not None:
        seen["1h"] = count_of(getattr(written, "ephemeral_1h_input_tokens", None))
    cached, stored = seen.get("cache_read_input_tokens", 0), seen.get("cache_creation_input_tokens", 0)
    told.usage = Usage(
        input_tokens=seen.get("input_tokens", 0) + cached + stored,
        cached_tokens=cached,
        cache_write_tokens=stored,
        cache_write_1h_tokens=min(seen.get("1h", 0), stored),
        output_tokens=seen.get("output_tokens", 0),
    )
