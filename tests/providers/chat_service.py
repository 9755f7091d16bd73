"""A local server that streams replies in the format of each model provider."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from werkzeug import Request, Response

from engine.providers.anthropic import Anthropic
from engine.providers.chat import ChatProvider, ChatReply, ChatRequest
from engine.providers.gemini import Gemini
from engine.providers.keys import CHAT
from engine.providers.openai import OpenAI
from tests.providers.conftest import PROVIDERS, Service

REQUEST = ChatRequest(("You are kind.\n", "Ann likes tea.\n"), "What does Ann like?", 100)

Usage = dict[str, Any]
_USAGE: dict[str, Usage] = {
    "anthropic": {
        "input_tokens": 30,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 70,
        "cache_creation": {"ephemeral_5m_input_tokens": 20, "ephemeral_1h_input_tokens": 50},
        "output_tokens": 1,
    },
    "openai": {
        "prompt_tokens": 300,
        "completion_tokens": 12,
        "total_tokens": 312,
        "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 70},
        "completion_tokens_details": {"reasoning_tokens": 5},
    },
    "gemini": {
        "promptTokenCount": 300,
        "cachedContentTokenCount": 200,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 312,
    },
}


class ChatService(Service):
    """A fake of one provider's streaming interface."""

    @property
    def path(self) -> str:
        if self.name == "gemini":
            return "/v1beta/models/some-model:streamGenerateContent"
        return super().path

    def chat(self, model: str = "some-model", address: str = "") -> Anthropic | OpenAI | Gemini:
        """The provider's client, connected to this server."""
        return PROVIDERS[self.name](model, address or self.address, purpose=CHAT)

    @property
    def cut(self) -> str:
        """The provider's stop reason for a reply that reached its limit."""
        return {"anthropic": "max_tokens", "openai": "length"}.get(self.name, "MAX_TOKENS")

    def event(self, data: object, name: str = "") -> bytes:
        """A server-sent event."""
        head = f"event: {name or _name(data)}\n" if self.name == "anthropic" else ""
        return f"{head}data: {json.dumps(data)}\n\n".encode()

    def head(self) -> list[bytes]:
        """The events before the text."""
        match self.name:
            case "anthropic":
                message: dict[str, Any] = {
                    "id": "m1",
                    "type": "message",
                    "role": "assistant",
                    "model": "some-model-1",
                    "content": [],
                    "stop_reason": None,
                    "usage": _USAGE["anthropic"],
                }
                block = {
                    "type": "content_block_start",
                    "index": 0,
                    "content_block": {"type": "text", "text": ""},
                }
                events = [{"type": "message_start", "message": message}, {"type": "ping"}, block]
                return [self.event(event) for event in events]
            case "openai":
                return [self.event(self._chunk({"role": "assistant", "content": ""}))]
            case _:
                return []

    def piece(self, text: str) -> bytes:
        """The event with a piece of the text."""
        match self.name:
            case "anthropic":
                delta = {"type": "text_delta", "text": text}
                return self.event({"type": "content_block_delta", "index": 0, "delta": delta})
            case "openai":
                return self.event(self._chunk({"content": text}))
            case _:
                return self.event(self._candidate({"parts": [{"text": text}], "role": "model"}))

    def tail(self, why: str = "") -> list[bytes]:
        """The events after the text; ``why`` is the provider's stop reason."""
        match self.name:
            case "anthropic":
                delta = {"stop_reason": why or "end_turn", "stop_sequence": None}
                return [
                    self.event({"type": "content_block_stop", "index": 0}),
                    self.event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 12}}),
                    self.event({"type": "message_stop"}),
                ]
            case "openai":
                ending = self._chunk({})
                ending["choices"][0]["finish_reason"] = why or "stop"
                usage = {**self._chunk({}), "choices": [], "usage": _USAGE["openai"]}
                return [self.event(ending), self.event(usage), b"data: [DONE]\n\n"]
            case _:
                return [
                    self.event(
                        {
                            **self._candidate({"parts": [{"text": ""}], "role": "model"}, why or "STOP"),
                            "usageMetadata": _USAGE["gemini"],
                        }
                    )
                ]

    def stream_reply(self, *texts: str, why: str = "") -> Response:
        """A complete streamed reply."""
        return self.stream_events([*self.head(), *map(self.piece, texts), *self.tail(why)])

    def tool_call(self, name: str, arguments: str, text: str = "") -> list[bytes]:
        """A reply that calls a tool, in as many pieces as the service may send."""
        text_events = [self.piece(text)] if text else []
        half = len(arguments) // 2
        match self.name:
            case "anthropic":
                use = {"type": "tool_use", "id": "call_1", "name": name, "input": {}}
                deltas = [
                    {"type": "input_json_delta", "partial_json": part}
                    for part in (arguments[:half], arguments[half:])
                ]
                events = [
                    {"type": "content_block_start", "index": 1, "content_block": use},
                    *({"type": "content_block_delta", "index": 1, "delta": delta} for delta in deltas),
                ]
                return [*self.head(), *text_events, *map(self.event, events), *self.tail("tool_use")]
            case "openai":
                first = {"index": 0, "id": "call_1", "type": "function"}
                parts = [
                    {**first, "function": {"name": name, "arguments": arguments[:half]}},
                    {"index": 0, "function": {"arguments": arguments[half:]}},
                ]
                events = [self._chunk({"tool_calls": [part]}) for part in parts]
                return [*self.head(), *text_events, *map(self.event, events), *self.tail("tool_calls")]
            case _:
                call = {"name": name, "args": json.loads(arguments)}
                parts = [{"functionCall": call, "thoughtSignature": "c2ln"}]
                return [
                    *text_events,
                    self.event(self._candidate({"parts": parts, "role": "model"})),
                    *self.tail(),
                ]

    def stream_events(self, events: Sequence[bytes]) -> Response:
        """A stream of the events, after which the connection closes."""
        return Response(list(events), content_type="text/event-stream")

    def drip(self, *texts: str) -> Callable[[Request], Response]:
        """A reply that begins with some text and then goes on forever, a byte at a time."""

        def drip() -> Iterator[bytes]:
            if texts:
                yield from (*self.head(), *map(self.piece, texts))
            while not self.release.wait(0.02):
                yield b":"

        return lambda _request: Response(drip(), content_type="text/event-stream")

    def error_event(self, kind: str, status: int, message: str) -> bytes:
        """An error event within a stream."""
        match self.name:
            case "anthropic":
                return self.event({"type": "error", "error": {"type": kind, "message": message}}, "error")
            case "openai":
                return self.event({"error": {"message": message, "type": kind, "code": status}})
            case _:
                return self.event({"error": {"code": status, "message": message, "status": kind.upper()}})

    def system(self, body: dict[str, Any]) -> str:
        """The stable prefix in a request."""
        match self.name:
            case "anthropic":
                return "".join(block["text"] for block in body["system"])
            case "openai":
                content = body["messages"][0]["content"]
                return content if isinstance(content, str) else "".join(part["text"] for part in content)
            case _:
                return "".join(part["text"] for part in body["systemInstruction"]["parts"])

    def message(self, body: dict[str, Any]) -> str:
        """The rest of a request."""
        if self.name == "gemini":
            return str(body["contents"][0]["parts"][0]["text"])
        return str(body["messages"][-1]["content"])

    def turns(self, body: dict[str, Any]) -> list[Any]:
        """The turns of a request."""
        return list(body["contents" if self.name == "gemini" else "messages"])

    def tools(self, body: dict[str, Any]) -> list[Mapping[str, Any]]:
        """The tools offered in a request."""
        found = body.get("tools", ())
        if self.name == "gemini":
            return [each for tool in found for each in tool["functionDeclarations"]]
        return [tool["function"] if self.name == "openai" else tool for tool in found]

    def _chunk(self, delta: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "some-model-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
        }

    def _candidate(self, content: dict[str, Any], finished: str = "") -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": content, "index": 0}
        if finished:
            candidate["finishReason"] = finished
        return {"candidates": [candidate], "modelVersion": "some-model-1"}


def _name(data: object) -> str:
    return str(data.get("type", "")) if isinstance(data, dict) else ""


async def ask(
    provider: ChatProvider,
    request: ChatRequest = REQUEST,
    *,
    timeout: float = 20.0,
    on_text: Callable[[str], None] = lambda _text: None,
) -> ChatReply:
    """Request one reply and close the connections."""
    try:
        return await provider.chat(request, timeout=timeout, on_text=on_text)
    finally:
        await provider.aclose()


class Listener:
    """A listener that records the pieces and their times."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.times: list[float] = []

    def __call__(self, text: str) -> None:
        self.pieces.append(text)
        self.times.append(time.monotonic())
