"""Anthropic's Messages API, through its own client.

The stable prefix goes into system blocks, each marked as the end of a cache (``cache-friendly-context.md``
3.1); the rest is the one message of the user.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.providers.attempts import ServiceFailure, quoted, refusal
from engine.providers.batches import CANCELED, EXPIRED, BatchService, Outcome, Standing
from engine.providers.chat import ChatRequest
from engine.providers.outgoing import guarded
from engine.providers.reply import Told, count_of, tool_use, usage_of
from engine.providers.transport import CLIENT_TIMEOUT_S, ChatForm

if TYPE_CHECKING:
    from datetime import datetime

    from anthropic import AsyncAnthropic
    from anthropic.types import ContentBlock, RawContentBlockDelta
    from anthropic.types.messages import MessageBatch

BREAKPOINTS = 3
"""Caches that a request may end, at most; the service allows four."""

_WITHOUT_TEMPERATURE = re.compile(r"claude-(?:fable|mythos|(?:opus|sonnet|haiku)-5|opus-4-[78])")
_CUT = ("max_tokens", "model_context_window_exceeded")
_CACHES_SAID = re.compile(r"cache_control|\bttl\b")
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
"""The statuses of errors by their types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(ChatForm):
    """The parameters that servers and models differ in."""

    thinking_off: bool = True
    marks: Literal["ttl", "plain", "none"] = "ttl"


class Anthropic(BatchService["AsyncAnthropic", Form]):
    """Anthropic's server, or one with its interface. The key is read from ``ANTHROPIC_API_KEY``."""

    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    address_variable = "ANTHROPIC_BASE_URL"

    def _connect(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient  # noqa: PLC0415 — more than a second

        return AsyncAnthropic(
            api_key=self._key(),
            base_url=self.address or None,
            max_retries=0,  # retries share one deadline, which the client does not know
            timeout=CLIENT_TIMEOUT_S,
            http_client=guarded(DefaultAsyncHttpxClient()),
        )

    def _errors(self) -> tuple[type[Exception], ...]:
        from anthropic import AnthropicError  # noqa: PLC0415 — imported with the client

        return (AnthropicError,)

    def _failure(self, error: Exception) -> ServiceFailure:
        import anthropic  # noqa: PLC0415 — imported with the client

        if isinstance(error, anthropic.APIStatusError):
            status = error.status_code
            if status < 400:  # told within a reply that had begun
                status = _STATUS.get(str(error.type), 500)
            return refusal(status, error.body, error.request.headers, error.response.headers)
        return ServiceFailure(0 if isinstance(error, anthropic.APIConnectionError) else -1)

    def _first_form(self) -> Form:
        # Recent models refuse a temperature; knowing that saves the first question a round trip.
        return Form(temperature=_WITHOUT_TEMPERATURE.match(self.model) is None)

    async def _stream(
        self, client: AsyncAnthropic, form: Form, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        from anthropic import omit  # noqa: PLC0415 — imported with the client

        create: Any = client.messages.create
        if request.at_once:
            # The client has no such parameter any more; older models still take it.
            extra = {"temperature": 0.0} if form.temperature else None
            yield _whole(await create(**self._body(form, request), extra_body=extra), told)
            return
        stream = await create(
            model=self.model,
            max_tokens=form.tokens(request),
            messages=_messages(request),
            system=_system(request, _mark(form, request)) or omit,
            tools=_tools(request) if form.offers(request) else omit,
            stream=True,
        )
        seen: dict[str, int] = {}
        blocks = _Blocks()
        async with stream:
            async for event in stream:
                told.has_begun = True
                match event.type:
                    case "message_start":
                        _begin(event.message, seen, told)
                    case "content_block_start":
                        yield blocks.begin(event.content_block)
                    case "content_block_delta":
                        yield blocks.add(event.delta)
                    case "message_delta":
                        _end(event.delta.stop_reason, told)
                        _note(event.usage, seen, told)
                    case "message_stop":
                        told.has_ended = True
                        blocks.tell(told)
                        return

    def _body(self, form: Form, request: ChatRequest) -> dict[str, Any]:
        """What asks for a reply that comes as one, but for a temperature."""
        return {
            "model": self.model,
            "max_tokens": form.tokens(request),
            "messages": _messages(request),
            **({"system": "".join(request.prefix)} if request.prefix else {}),
            **({"thinking": {"type": "disabled"}} if form.thinking_off else {}),
        }

    async def _submit(
        self, client: AsyncAnthropic, form: Form, requests: Mapping[str, ChatRequest], label: str
    ) -> str:
        more = {"temperature": 0.0} if form.temperature else {}
        wanted: list[Any] = [
            {"custom_id": key, "params": {**self._body(form, request), **more}}
            for key, request in requests.items()
        ]
        return (await self._once(client.messages.batches.create(requests=wanted))).id

    async def _find(
        self, client: AsyncAnthropic, label: str, since: datetime, size: int, known: Collection[str]
    ) -> str:
        # A batch has no name here: it is known by its age and size, and its replies by what they answer.
        for each in (await client.messages.batches.list(limit=100)).data:
            if each.id not in known and each.created_at >= since and _size(each) == size:
                return each.id
        return ""

    async def _standing(self, client: AsyncAnthropic, batch: str) -> Standing:
        found = await client.messages.batches.retrieve(batch)
        total = _size(found)
        return Standing(total - found.request_counts.processing, total, found.processing_status == "ended")

    async def _outcomes(self, client: AsyncAnthropic, batch: str) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        async for each in await client.messages.batches.results(batch):
            match each.result.type:
                case "succeeded":
                    told = Told()
                    outcomes[each.custom_id] = self._reply(_whole(each.result.message, told), told)
                case "errored":
                    outcomes[each.custom_id] = quoted(f"refused ({each.result.error.error.type})")
                case other:
                    outcomes[each.custom_id] = EXPIRED if other == "expired" else CANCELED
        return outcomes

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        said = failure.said.lower()
        if _mark(form, request) is not None and _CACHES_SAID.search(said):
            # Servers with this interface may know no caches, or none for an hour.
            return replace(form, marks="plain" if form.marks == "ttl" else "none")
        if request.at_once and form.thinking_off and "thinking" in said:
            return replace(form, thinking_off=False)
        return super()._adapt(form, failure, request)


def _mark(form: Form, request: ChatRequest) -> dict[str, str] | None:
    if request.ttl is None or form.marks == "none":
        return None
    return {"type": "ephemeral", "ttl": request.ttl} if form.marks == "ttl" else {"type": "ephemeral"}


def _system(request: ChatRequest, mark: dict[str, str] | None) -> list[Any]:
    """The prefix as blocks, of which the last ones that may are the ends of caches."""
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


def _size(batch: MessageBatch) -> int:
    counts = batch.request_counts
    return sum((counts.processing, counts.succeeded, counts.errored, counts.canceled, counts.expired))


def _whole(message: Any, told: Told) -> str:
    """The text of a reply that came as one; all else goes to ``told``."""
    _end(message.stop_reason, told)
    _begin(message, {}, told)
    told.has_ended = True
    return "".join(block.text for block in message.content if block.type == "text")


def _begin(message: Any, seen: dict[str, int], told: Told) -> None:
    told.model = str(message.model or "")
    _note(message.usage, seen, told)


def _end(reason: str | None, told: Told) -> None:
    told.cut = reason in _CUT
    told.declined = "refusal" if reason == "refusal" else ""


def _note(usage: object, seen: dict[str, int], told: Told) -> None:
    """Takes over what is said of tokens: later counts stand for the whole call, as the first do."""
    for name in _COUNTS:
        if isinstance(value := getattr(usage, name, None), int):
            seen[name] = count_of(value)
    written = getattr(usage, "cache_creation", None)
    if written is not None:
        seen["1h"] = count_of(getattr(written, "ephemeral_1h_input_tokens", None))
    sent, cached, stored, out = (seen.get(name, 0) for name in _COUNTS)
    told.usage = usage_of(sent + cached + stored, out, cached, stored, seen.get("1h", 0))
