"""A fake of OpenAI's ``responses`` interface at the local server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.providers.keys import CHAT
from engine.providers.openai import OpenAI
from tests.providers.chat_service import ChatService

_USAGE = {
    "input_tokens": 300,
    "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 70},
    "output_tokens": 12,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 312,
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}


class ResponsesService(ChatService):
    """Streams responses."""

    @property
    def path(self) -> str:
        return "/v1/responses"

    @property
    def cut(self) -> str:
        return "max_output_tokens"

    def chat(self, model: str = "some-model", address: str = "") -> OpenAI:
        """The client; without an address it finds this server through its environment variable."""
        return OpenAI(model, address, purpose=CHAT)

    def event(self, data: object, name: str = "") -> bytes:
        return f"event: {name or 'message'}\ndata: {json.dumps(data)}\n\n".encode()

    def head(self) -> list[bytes]:
        return [
            self._event("response.created", response=self._response()),
            self._event("response.in_progress", response=self._response()),
        ]

    def piece(self, text: str) -> bytes:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        return self._event("response.output_text.delta", delta=text, logprobs=[], **place)

    def tail(self, why: str = "") -> list[bytes]:
        if not why:
            return [self._event("response.completed", response=self._response("completed"))]
        ended = {**self._response("incomplete"), "incomplete_details": {"reason": why}}
        return [self._event("response.incomplete", response=ended)]

    def tool_call(self, name: str, arguments: str, text: str = "") -> list[bytes]:
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": name,
            "arguments": arguments,
            "status": "completed",
        }
        done = [
            self._event("response.output_item.done", item=each, output_index=0) for each in (THOUGHT, item)
        ]
        return [*self.head(), *([self.piece(text)] if text else []), *done, *self.tail()]

    def error_event(self, kind: str, status: int, message: str) -> bytes:
        codes = {429: "rate_limit_exceeded"}
        error = {"code": codes.get(status, "server_error"), "message": message}
        return self._event("response.failed", response={**self._response("failed"), "error": error})

    def system(self, body: dict[str, Any]) -> str:
        content = body["input"][0]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)

    def message(self, body: dict[str, Any]) -> str:
        return str(next(each for each in body["input"] if each.get("role") == "user")["content"])

    def limit(self, body: dict[str, Any]) -> object:
        return body["max_output_tokens"]

    def turns(self, body: dict[str, Any]) -> list[Any]:
        return list(body["input"])

    def tools(self, body: dict[str, Any]) -> list[Mapping[str, Any]]:
        return list(body.get("tools", ()))

    def _event(self, kind: str, **data: object) -> bytes:
        return self.event({"type": kind, "sequence_number": 1, **data}, kind)

    def _response(self, status: str = "in_progress") -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "some-model-1",
            "status": status,
            "output": [],
            "error": None,
            "incomplete_details": None,
            "usage": _USAGE if status in ("completed", "incomplete") else None,
        }
