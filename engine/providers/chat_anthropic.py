"""Chats with Anthropic's Messages API, through its own client.

The stable prefix goes into system blocks, each marked as the end of a cache (``cache-friendly-context.md``
3.1); the rest is the one message of the user.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.anthropic import AnthropicService
from engine.providers.attempts import ServiceFailure
from engine.providers.base import count_of
from engine.providers.chat import ChatRequest, Usage
from engine.providers.chat_network import ChatNetwork, Told, lower_limit, tool_use

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import (
        CacheControlEphemeralParam,
        ContentBlock,
        RawContentBlockDelta,
        TextBlockParam,
        ToolParam,
    )

BREAKPOINTS = 3
"""Caches that a request may end, at most; the service allows four."""

_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that servers and models differ in."""

    marks: Literal["ttl", "plain", "none"] = "ttl"
    most_tokens: int | None = None
    tools: bool = True


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
                messages=_messages(request),
                tools=_tools(request) or omit,
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
            messages=_messages(request),
            tools=(_tools(request) or omit) if form.tools else omit,
            stream=True,
        )
        seen: dict[str, int] = {}
        blocks = _Blocks()
        async with stream:
            async for event in stream:
                told.has_begun = True
                match event.type:
                    case "message_start":
                        told.model = str(event.message.model)
                        _note(event.message.usage, seen, told)
                    case "content_block_start":
                        yield blocks.begin(event.content_block)
                    case "content_block_delta":
                        yield blocks.add(event.delta)
                    case "message_delta":
                        told.cut = event.delta.stop_reason in ("max_tokens", "model_context_window_exceeded")
                        told.declined = "refusal" if event.delta.stop_reason == "refusal" else ""
                        _note(event.usage, seen, told)
                    case "message_stop":
                        told.has_ended = True
                        blocks.tell(told)
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
        if form.tools and request.tools and "tool" in said:
            return replace(form, tools=False)
        if "max_tokens" in said:
            allowed = lower_limit(said, form.most_tokens or request.max_tokens)
            return None if allowed is None else replace(form, most_tokens=allowed)
        return None

    def _offers(self, form: Form) -> bool:
        return form.tools


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


def _tools(request: ChatRequest) -> list[ToolParam]:
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}
        for tool in request.tools
    ]


def _messages(request: ChatRequest) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": request.rest}]
    for each in request.rounds:
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": answer}
            for call, answer in each.answers
        ]
        messages += [{"role": "assistant", "content": each.items}, {"role": "user", "content": answers}]
    return messages


class _Blocks:
    """The blocks of a reply, put together again from what a stream says of them."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._arguments: dict[str, str] = {}

    def begin(self, block: ContentBlock) -> str:
        """A block begins; gives the text that it begins with."""
        self._blocks.append(block.to_dict())
        return block.text if block.type == "text" else ""

    def add(self, delta: RawContentBlockDelta) -> str:
        """The last block goes on; gives the text that it goes on with."""
        block = self._blocks[-1]
        match delta.type:
            case "text_delta":
                block["text"] = block.get("text", "") + delta.text
                return delta.text
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta.thinking
            case "signature_delta":
                block["signature"] = delta.signature
            case "input_json_delta":
                self._arguments[block["id"]] = self._arguments.get(block["id"], "") + delta.partial_json
        return ""

    def tell(self, told: Told) -> None:
        """Nothing more comes: what was called, and the blocks to send back."""
        for block in self._blocks:
            if block["type"] == "tool_use":
                call = tool_use(block["name"], self._arguments.get(block["id"], ""), block["id"])
                block["input"] = call.arguments if isinstance(call.arguments, dict) else {}
                told.calls.append(call)
        told.items = [block for block in self._blocks if block["type"] != "text" or block["text"]]


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
