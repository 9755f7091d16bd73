"""Google's Gemini API, through its REST endpoints.

The few kinds of requests do not need the ``google-genai`` package, which would have to be installed, takes
half a second to import and has its own retries to disable. The HTTP client that the other providers' packages
depend on is used directly.

The stable prefix is sent as the system instruction, or replaced by the name of a cache created from it before
(``cache-friendly-context.md`` 3.2).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from engine.providers.attempts import ServiceFailure, http_failure, stream_failure
from engine.providers.chat import CacheGone, ChatRequest, StoredCache, ToolUse
from engine.providers.keys import NO_KEY
from engine.providers.outgoing import redacting
from engine.providers.reply import ReplyInfo, count_of, usage_of
from engine.providers.transport import CLIENT_TIMEOUT_S, ChatForm, ChatService

if TYPE_CHECKING:
    import httpx2

_ADDRESS = "https://generativelanguage.googleapis.com"
EVENT_LIMIT = 4 * 1024 * 1024
"""Maximum bytes of a stream event, which has a few kilobytes."""

_NAME = re.compile(r"cachedContents/[\w-]{1,200}", re.ASCII)
_VERSIONED = re.compile(r"/v\d\w*/?$")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
_CACHE_MESSAGE = re.compile(r"cached ?content", re.IGNORECASE)
_VAGUE = "request contains an invalid argument"
_DECLINED = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"}
)

Thinking = Literal["budget", "minimal", "low"]
_NEXT_THINKING: dict[Thinking, Thinking | None] = {"budget": None, "minimal": "low", "low": None}
_THINKING: dict[Thinking, dict[str, object]] = {
    "budget": {"thinkingBudget": 0},
    "minimal": {"thinkingLevel": "minimal"},
    "low": {"thinkingLevel": "low"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(ChatForm):
    """The parameters that models differ in."""

    thinking: Thinking | None


class Client:
    """An HTTP client that sends the key to one server only.

    Redirects are not followed, since they could send the key elsewhere.
    """

    def __init__(self, address: str, key: str) -> None:
        from httpx2 import AsyncClient  # noqa: PLC0415 — 70 ms

        headers = {} if key == NO_KEY else {"x-goog-api-key": key}
        self._http = redacting(AsyncClient(headers=headers, timeout=CLIENT_TIMEOUT_S, follow_redirects=False))
        root = address.rstrip("/")
        self._root = root if _VERSIONED.search(root) else f"{root}/v1beta"

    async def send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """Sends a request, with or without a JSON body."""
        return await self._http.request(method, f"{self._root}/{path}", json=body)

    def events(self, path: str, body: object) -> AbstractAsyncContextManager[httpx2.EventSource]:
        """Posts a JSON body; streams the server-sent events of the response."""
        return self._http.sse(f"{self._root}/{path}", method="POST", json=body, max_event_size=EVENT_LIMIT)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()


class Gemini(ChatService[Client, Form]):
    """Google's server, or a compatible one; implements ``engine.providers.chat.NamedCaches``.

    The key is read from ``GEMINI_API_KEY``.
    """

    name = "gemini"
    key_variable = "GEMINI_API_KEY"
    address_variable = "GOOGLE_GEMINI_BASE_URL"

    async def create_cache(self, request: ChatRequest, ttl_s: int, *, timeout: float) -> StoredCache:
        """As ``NamedCaches.create_cache``."""

        async def ask(client: Client, form: Form) -> StoredCache:
            body = {"model": self._model_path, **_cacheable(request, tools=form.tools), "ttl": f"{ttl_s}s"}
            return _stored_cache(_json(await client.send("POST", "cachedContents", body)), ttl_s)

        return await self._request(ask, timeout)

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        """As ``NamedCaches.delete_cache``."""

        async def ask(client: Client, _form: Form) -> None:
            response = await client.send("DELETE", name)
            # The service does not distinguish a deleted cache from somebody else's.
            if response.status_code != 404 and not self._is_gone(failure_of(response)):
                _json(response)

        if _NAME.fullmatch(name) is not None:
            await self._request(ask, timeout)

    def _connect(self) -> Client:
        key = self._key()
        return Client(self.address or os.environ.get(self.address_variable, "") or _ADDRESS, key)

    def _first_form(self) -> Form:
        # Models before Gemini 3 have a token budget for thinking, later ones levels that never turn it off.
        is_old = re.match(r"(?:models/)?gemini-[12]\b", self.model) is not None
        return Form(thinking="budget" if is_old else "minimal")

    async def _stream(
        self, client: Client, form: Form, request: ChatRequest, info: ReplyInfo
    ) -> AsyncGenerator[str, None]:
        settings: dict[str, object] = {"maxOutputTokens": form.max_tokens_for(request)}
        body = {**_request_body(request, tools=form.tools), "generationConfig": settings}
        if request.at_once:
            if form.temperature:
                settings["temperature"] = 0.0
            if form.thinking is not None:
                settings["thinkingConfig"] = _THINKING[form.thinking]
            reply = _json(await client.send("POST", self._resource("generateContent"), body))
            texts = _read_reply(reply, info)
            info.has_ended = info.has_begun or "promptFeedback" in reply
            yield "".join(texts)
            return
        async with client.events(f"{self._resource('streamGenerateContent')}?alt=sse", body) as events:
            response = events.response
            if response.status_code != 200:
                await response.aread()
                failure = failure_of(response)
                if request.cached_content and self._is_gone(failure):
                    raise self._gone(request.cached_content)
                raise failure
            async for event in events:
                if not event.data:
                    continue
                reply = json.loads(event.data)
                if "error" in reply:
                    error = reply["error"]
                    raise stream_failure({"error": error}, error.get("code"), response.request.headers)
                for text in _read_reply(reply, info):
                    yield text
                if info.has_ended:
                    return

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        message = failure.message.lower()
        # Some models reject the thinking parameter without naming it.
        if request.at_once and form.thinking is not None and ("thinking" in message or _VAGUE in message):
            return replace(form, thinking=_NEXT_THINKING[form.thinking])
        return super()._adapt(form, failure, request)

    def _resource(self, method: str) -> str:
        """The path of a method of the model's resource."""
        return f"models/{quote(self.model.removeprefix('models/'), safe='')}:{method}"

    @property
    def _model_path(self) -> str:
        return f"models/{self.model.removeprefix('models/')}"

    def _is_gone(self, failure: ServiceFailure) -> bool:
        return failure.status in (400, 403, 404) and _CACHE_MESSAGE.search(failure.message) is not None

    def _gone(self, name: str) -> CacheGone:
        return CacheGone(
            f"the service has no cache {name} for {self.model}",
            where=self.name,
            hint="send again; a new cache will be created",
        )


def _cacheable(request: ChatRequest, *, tools: bool) -> dict[str, object]:
    """The part of a request that can be cached."""
    body: dict[str, object] = {}
    if request.prefix:
        body["systemInstruction"] = {"parts": [{"text": "".join(request.prefix)}]}
    if request.tools and tools:
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": dict(tool.input_schema),
            }
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declared}]
    return body


def _request_body(request: ChatRequest, *, tools: bool) -> dict[str, object]:
    contents: list[object] = [{"role": "user", "parts": [{"text": request.rest}]}]
    for each in request.rounds:
        answers = [
            {"functionResponse": {"name": call.name, "response": {"result": answer}, **_id(call)}}
            for call, answer in each.answers
        ]
        contents += [{"role": "model", "parts": each.items}, {"role": "user", "parts": answers}]
    if request.cached_content:
        return {"contents": contents, "cachedContent": request.cached_content}
    return {"contents": contents, **_cacheable(request, tools=tools)}


def _id(call: ToolUse) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


def _read_reply(reply: Mapping[str, Any], info: ReplyInfo) -> list[str]:
    """The texts in a reply or stream event; everything else is stored in ``info``."""
    usage = reply.get("usageMetadata")
    if usage:
        written = count_of(usage.get("candidatesTokenCount")) + count_of(usage.get("thoughtsTokenCount"))
        info.usage = usage_of(usage.get("promptTokenCount"), written, usage.get("cachedContentTokenCount"))
    blocked = (reply.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        info.declined = _words(blocked)
    texts: list[str] = []
    for candidate in (reply.get("candidates") or ())[:1]:
        info.has_begun = True
        info.model = str(reply.get("modelVersion") or info.model)
        for part in (candidate.get("content") or {}).get("parts") or ():
            info.items.append(part)
            text = part.get("text")
            if not isinstance(text, str | None):
                raise TypeError("the text of a part is not a string")
            if text and not part.get("thought", False):
                texts.append(text)
            if called := part.get("functionCall"):
                info.calls.append(
                    ToolUse(str(called["name"]), called.get("args") or {}, str(called.get("id") or ""))
                )
        finished = candidate.get("finishReason")
        if finished:
            info.has_ended = True
            info.cut = finished == "MAX_TOKENS"
            info.declined = _words(finished) if finished in _DECLINED else info.declined
    return texts


def _words(reason: object) -> str:
    return str(reason)[:40].lower().replace("_", " ")


def _json(response: httpx2.Response) -> Mapping[str, Any]:
    """Parses a response.

    Raises:
        ServiceFailure: It is an error.
    """
    if response.status_code != 200:
        raise failure_of(response)
    reply: Mapping[str, Any] = response.json()
    return reply


def _stored_cache(reply: Mapping[str, Any], ttl_s: int) -> StoredCache:
    name = reply["name"]
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("not the name of a cache")
    try:
        expires_at = datetime.fromisoformat(reply["expireTime"]).astimezone(UTC)
    except (KeyError, ValueError, TypeError):
        expires_at = datetime.now(UTC) + timedelta(seconds=ttl_s)
    return StoredCache(name, expires_at, count_of((reply.get("usageMetadata") or {}).get("totalTokenCount")))


def failure_of(response: httpx2.Response) -> ServiceFailure:
    """The failure in an error response."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    failure = http_failure(response.status_code, body, response.request.headers, response.headers)
    for detail in _details(body):
        if detail.get("reason") == "API_KEY_INVALID":
            failure.status = 401  # this service reports an invalid key as a bad request
        delay = detail.get("retryDelay")
        if failure.retry_after is None and isinstance(delay, str) and (match := _DELAY.fullmatch(delay)):
            failure.retry_after = float(match[1])
    return failure


def _details(body: object) -> list[Mapping[str, object]]:
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    return [each for each in details if isinstance(each, Mapping)] if isinstance(details, list) else []
