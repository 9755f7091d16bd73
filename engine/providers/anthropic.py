"""Anthropic's Messages API, through the official client.

The stable prefix is sent as system blocks, each with a cache breakpoint (``cache-friendly-context.md`` 3.1);
the rest is a single user message.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.attempts import ServiceFailure, http_failure
from engine.providers.chat import ChatRequest
from engine.providers.outgoing import redacting
from engine.providers.reply import ReplyInfo, count_of, tool_use, usage_of
from engine.providers.transport import CLIENT_TIMEOUT_S, ChatForm, ChatService

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import ContentBlock, RawContentBlockDelta

BREAKPOINTS = 3
"""Maximum number of cache breakpoints in a request; the service allows four."""

_WITHOUT_TEMPERATURE = re.compile(r"claude-(?:fable|mythos|(?:opus|sonnet|haiku)-5|opus-4-[78])")
_CUT = ("max_tokens", "model_context_window_exceeded")
_CACHE_MESSAGE = re.compile(r"cache_control|\bttl\b")
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status by error type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(ChatForm):
    """The parameters that servers and models differ in."""

    thinking_off: bool = True  # thinking can be disabled
    cache_control: Literal["ttl", "plain", "none"] = "ttl"


class Anthropic(ChatService["AsyncAnthropic", Form]):
    """Anthropic's server, or a compatible one. The key is read from ``ANTHROPIC_API_KEY``."""

    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    address_variable = "ANTHROPIC_BASE_URL"

    def _connect(self) -> AsyncAnthropic:
        key = self._key()  # before the import: without a key it would be for nothing
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415 — more than a second

        return AsyncAnthropic(
            api_key=key,
            base_url=self.address or None,
            max_retries=0,  # retries share one deadline, which the client does not know about
            timeout=CLIENT_TIMEOUT_S,
            http_client=redacting(DefaultAsyncHttpxClient()),
        )

    def _errors(self) -> tuple[type[Exception], ...]:
        from anthropic import AnthropicError  # noqa: PLC0415 — imported with the client

        return (AnthropicError,)

    def _failure(self, error: Exception) -> ServiceFailure:
        import anthropic  # noqa: PLC0415 — imported with the client

        if isinstance(error, anthropic.APIStatusError):
            status = error.status_code
            if status < 400:  # reported in the middle of a streamed reply
                status = _STATUS.get(str(error.type), 500)
            return http_failure(status, error.body, error.request.headers, error.response.headers)
        return ServiceFailure(0 if isinstance(error, anthropic.APIConnectionError) else -1)

    def _first_form(self) -> Form:
        # Recent models reject a temperature; knowing that saves the first request a round trip.
        return Form(temperature=_WITHOUT_TEMPERATURE.match(self.model) is None)

    async def _stream(
        self, client: AsyncAnthropic, form: Form, request: ChatRequest, info: ReplyInfo
    ) -> AsyncGenerator[str, None]:
        from anthropic import omit  # noqa: PLC0415 — imported with the client

        create: Any = client.messages.create
        if request.at_once:
            # The client no longer has this parameter; older models still accept it.
            extra = {"temperature": 0.0} if form.temperature else None
            yield _read_message(await create(**self._body(form, request), extra_body=extra), info)
            return
        stream = await create(
            model=self.model,
            max_tokens=form.max_tokens_for(request),
            messages=_messages(request),
            system=_system(request, _mark(form, request)) or omit,
            tools=_tools(request) if form.offers_tools(request) else omit,
            stream=True,
        )
        seen: dict[str, int] = {}
        blocks = _Blocks()
        async with stream:
            async for event in stream:
                info.has_begun = True
                match event.type:
                    case "message_start":
                        _begin(event.message, seen, info)
                    case "content_block_start":
                        yield blocks.begin(event.content_block)
                    case "content_block_delta":
                        yield blocks.add(event.delta)
                    case "message_delta":
                        _end(event.delta.stop_reason, info)
                        _note_usage(event.usage, seen, info)
                    case "message_stop":
                        info.has_ended = True
                        blocks.finish(info)
                        return

    def _body(self, form: Form, request: ChatRequest) -> dict[str, Any]:
        """The body of a non-streamed request, without a temperature."""
        return {
            "model": self.model,
            "max_tokens": form.max_tokens_for(request),
            "messages": _messages(request),
            **({"system": "".join(request.prefix)} if request.prefix else {}),
            **({"thinking": {"type": "disabled"}} if form.thinking_off else {}),
        }

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        message = failure.message.lower()
        if _mark(form, request) is not None and _CACHE_MESSAGE.search(message):
            # Compatible servers may not support caches, or not the one-hour lifetime.
            return replace(form, cache_control="plain" if form.cache_control == "ttl" else "none")
        if request.at_once and form.thinking_off and "thinking" in message:
            return replace(form, thinking_off=False)
        return super()._adapt(form, failure, request)


def _mark(form: Form, request: ChatRequest) -> dict[str, str] | None:
    if request.ttl is None or form.cache_control == "none":
        return None
    return {"type": "ephemeral", "ttl": request.ttl} if form.cache_control == "ttl" else {"type": "ephemeral"}


def _system(request: ChatRequest, mark: dict[str, str] | None) -> list[Any]:
    """The prefix as blocks; the last ones are cache breakpoints, up to the limit."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": piece} for piece in request.prefix]
    if mark is not None:
        for block in blocks[-BREAKPOINTS:]:
            block["cache_control"] = mark
    return blocks


def _tools(request: ChatRequest) -> list[Any]:
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
    """Reassembles the blocks of a streamed reply."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._arguments: dict[str, str] = {}

    def begin(self, block: ContentBlock) -> str:
        """Starts a block; returns its initial text."""
        self._blocks.append(block.to_dict())
        return block.text if block.type == "text" else ""

    def add(self, delta: RawContentBlockDelta) -> str:
        """Extends the last block; returns the new text."""
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

    def finish(self, info: ReplyInfo) -> None:
        """Stores the tool calls, and the blocks to send back, in ``info``."""
        for block in self._blocks:
            if block["type"] == "tool_use":
                call = tool_use(block["name"], self._arguments.get(block["id"], ""), block["id"])
                block["input"] = call.arguments if isinstance(call.arguments, dict) else {}
                info.calls.append(call)
        info.items = [block for block in self._blocks if block["type"] != "text" or block["text"]]


def _read_message(message: Any, info: ReplyInfo) -> str:
    """The text of a non-streamed reply; everything else is stored in ``info``."""
    _end(message.stop_reason, info)
    _begin(message, {}, info)
    info.has_ended = True
    return "".join(block.text for block in message.content if block.type == "text")


def _begin(message: Any, seen: dict[str, int], info: ReplyInfo) -> None:
    info.model = str(message.model or "")
    _note_usage(message.usage, seen, info)


def _end(reason: str | None, info: ReplyInfo) -> None:
    info.cut = reason in _CUT
    info.declined = "refusal" if reason == "refusal" else ""


def _note_usage(usage: object, seen: dict[str, int], info: ReplyInfo) -> None:
    """Updates the usage; every count is cumulative, so later counts replace earlier ones."""
    for name in _COUNTS:
        if isinstance(value := getattr(usage, name, None), int):
            seen[name] = count_of(value)
    written = getattr(usage, "cache_creation", None)
    if written is not None:
        seen["1h"] = count_of(getattr(written, "ephemeral_1h_input_tokens", None))
    sent, cached, stored, out = (seen.get(name, 0) for name in _COUNTS)
    info.usage = usage_of(sent + cached + stored, out, cached, stored, seen.get("1h", 0))
