"""Google's Gemini API, through its REST endpoints.

Requests of a few forms do not need the ``google-genai`` package: it would be one more thing to install, to
import for half a second and to keep from retrying on its own. The HTTP client that the packages of the other
providers bring along is used directly.

The stable prefix is the system instruction, or stands in a cache that was made of it before and is named
instead (``cache-friendly-context.md`` 3.2).
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

from engine.providers.attempts import ServiceFailure, refusal, told_within
from engine.providers.caches import CacheGone, StoredCache
from engine.providers.chat import ChatRequest, ToolUse
from engine.providers.keys import NO_KEY
from engine.providers.outgoing import guarded
from engine.providers.reply import Told, count_of, usage_of
from engine.providers.transport import CLIENT_TIMEOUT_S, ChatForm, ChatService

if TYPE_CHECKING:
    import httpx2

_ADDRESS = "https://generativelanguage.googleapis.com"
EVENT_LIMIT = 4 * 1024 * 1024
"""Bytes of one event of a stream; one has some kilobytes."""

_PAGE, _MOST_PAGES = 1000, 10
"""Caches in one answer, the most that the service lists at once, and answers that are asked for."""
_NAME = re.compile(r"cachedContents/[\w-]{1,200}", re.ASCII)
_VERSIONED = re.compile(r"/v\d\w*/?$")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
_CACHE_SAID = re.compile(r"cached ?content", re.IGNORECASE)
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
    """An HTTP client that sends the key, to one server only.

    Redirects are not followed: they could lead the key elsewhere.
    """

    def __init__(self, address: str, key: str) -> None:
        from httpx2 import AsyncClient  # noqa: PLC0415 — 70 ms

        headers = {} if key == NO_KEY else {"x-goog-api-key": key}
        self._http = guarded(AsyncClient(headers=headers, timeout=CLIENT_TIMEOUT_S, follow_redirects=False))
        root = address.rstrip("/")
        self._root = root if _VERSIONED.search(root) else f"{root}/v1beta"

    async def send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """The response to a request with or without a JSON body."""
        return await self._http.request(method, f"{self._root}/{path}", json=body)

    def events(self, path: str, body: object) -> AbstractAsyncContextManager[httpx2.EventSource]:
        """The events that answer a JSON body, one by one."""
        return self._http.sse(f"{self._root}/{path}", method="POST", json=body, max_event_size=EVENT_LIMIT)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()


class Gemini(ChatService[Client, Form]):
    """Google's server, or one with its interface; also ``engine.providers.caches.NamedCaches``.

    The key is read from ``GEMINI_API_KEY``.
    """

    name = "gemini"
    key_variable = "GEMINI_API_KEY"
    address_variable = "GOOGLE_GEMINI_BASE_URL"

    async def create_cache(
        self, request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        """As ``NamedCaches.create_cache``."""
        attempts = 0

        async def ask(client: Client, form: Form) -> StoredCache:
            nonlocal attempts
            attempts += 1
            if display_name and attempts > 1:
                found = await self._left_behind(client, display_name)
                if found is not None:
                    return found
            body = {"model": self._model_path, **_prefix(request, tools=form.tools), "ttl": f"{ttl_s}s"}
            if display_name:
                body["displayName"] = display_name
            return _stored(_json(await client.send("POST", "cachedContents", body)), ttl_s)

        return await self._asked(ask, timeout)

    async def _left_behind(self, client: Client, display_name: str) -> StoredCache | None:
        """What an attempt has made whose answer was lost; a server that lists nothing is no hindrance."""
        try:
            return await self._displayed(client, display_name)
        except ServiceFailure as failure:
            if failure.status in (400, 403, 404, 405, 501):
                return None
            raise

    async def find_cache(self, display_name: str, *, timeout: float) -> StoredCache | None:
        """As ``NamedCaches.find_cache``."""
        return await self._asked(lambda client, _form: self._displayed(client, display_name), timeout)

    async def _displayed(self, client: Client, display_name: str) -> StoredCache | None:
        found: list[StoredCache] = []
        page = ""
        for _ in range(_MOST_PAGES):
            more = f"&pageToken={quote(page, safe='')}" if page else ""
            listed = _json(await client.send("GET", f"cachedContents?pageSize={_PAGE}{more}"))
            for each in listed.get("cachedContents") or ():
                if each.get("displayName") == display_name and each.get("model") == self._model_path:
                    found.append(_stored(each, 0))
            page = str(listed.get("nextPageToken") or "")
            if not page:
                break
        return max(found, key=lambda stored: stored.expires_at, default=None)

    async def refresh_cache(self, name: str, ttl_s: int, *, timeout: float) -> StoredCache:
        """As ``NamedCaches.refresh_cache``."""

        async def ask(client: Client, _form: Form) -> StoredCache:
            response = await client.send("PATCH", f"{name}?updateMask=ttl", {"ttl": f"{ttl_s}s"})
            if response.status_code in (403, 404) and self._is_gone(refused(response)):
                raise self._gone(name)
            return _stored(_json(response), ttl_s)

        if _NAME.fullmatch(name) is None:
            raise self._gone("that name")
        return await self._asked(ask, timeout)

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        """As ``NamedCaches.delete_cache``."""

        async def ask(client: Client, _form: Form) -> None:
            response = await client.send("DELETE", name)
            # The service does not tell a cache that is gone from one of somebody else.
            if response.status_code != 404 and not self._is_gone(refused(response)):
                _json(response)

        if _NAME.fullmatch(name) is not None:
            await self._asked(ask, timeout)

    def _connect(self) -> Client:
        key = self._key()
        return Client(self.address or os.environ.get(self.address_variable, "") or _ADDRESS, key)

    def _first_form(self) -> Form:
        # Models before Gemini 3 count the tokens they may think, later ones have levels and never stop quite.
        is_old = re.match(r"(?:models/)?gemini-[12]\b", self.model) is not None
        return Form(thinking="budget" if is_old else "minimal")

    async def _stream(
        self, client: Client, form: Form, request: ChatRequest, told: Told
    ) -> AsyncGenerator[str, None]:
        settings: dict[str, object] = {"maxOutputTokens": form.tokens(request)}
        body = {**_content(request, tools=form.tools), "generationConfig": settings}
        if request.at_once:
            if form.temperature:
                settings["temperature"] = 0.0
            if form.thinking is not None:
                settings["thinkingConfig"] = _THINKING[form.thinking]
            reply = _json(await client.send("POST", self._resource("generateContent"), body))
            texts = _texts(reply, told)
            told.has_ended = told.has_begun or "promptFeedback" in reply
            yield "".join(texts)
            return
        async with client.events(f"{self._resource('streamGenerateContent')}?alt=sse", body) as events:
            response = events.response
            if response.status_code != 200:
                await response.aread()
                failure = refused(response)
                if request.cached_content and self._is_gone(failure):
                    raise self._gone(request.cached_content)
                raise failure
            async for event in events:
                if not event.data:
                    continue
                reply = json.loads(event.data)
                if "error" in reply:
                    error = reply["error"]
                    raise told_within({"error": error}, error.get("code"), response.request.headers)
                for text in _texts(reply, told):
                    yield text
                if told.has_ended:
                    return

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        said = failure.said.lower()
        # Some models refuse what they are told about thinking without naming it.
        if request.at_once and form.thinking is not None and ("thinking" in said or _VAGUE in said):
            return replace(form, thinking=_NEXT_THINKING[form.thinking])
        return super()._adapt(form, failure, request)

    def _resource(self, method: str) -> str:
        """The path of a method of the model."""
        return f"models/{quote(self.model.removeprefix('models/'), safe='')}:{method}"

    @property
    def _model_path(self) -> str:
        return f"models/{self.model.removeprefix('models/')}"

    def _is_gone(self, failure: ServiceFailure) -> bool:
        return failure.status in (400, 403, 404) and _CACHE_SAID.search(failure.said) is not None

    def _gone(self, name: str) -> CacheGone:
        return CacheGone(
            f"the service has no cache of {name} for {self.model}",
            where=self.name,
            hint="send again; a new cache will be created",
        )


def _prefix(request: ChatRequest, *, tools: bool) -> dict[str, object]:
    """What a cache may hold of a request."""
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


def _content(request: ChatRequest, *, tools: bool) -> dict[str, object]:
    contents: list[object] = [{"role": "user", "parts": [{"text": request.rest}]}]
    for each in request.rounds:
        answers = [
            {"functionResponse": {"name": call.name, "response": {"result": answer}, **_id(call)}}
            for call, answer in each.answers
        ]
        contents += [{"role": "model", "parts": each.items}, {"role": "user", "parts": answers}]
    if request.cached_content:
        return {"contents": contents, "cachedContent": request.cached_content}
    return {"contents": contents, **_prefix(request, tools=tools)}


def _id(call: ToolUse) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


def _texts(reply: Mapping[str, Any], told: Told) -> list[str]:
    """The text of a reply, or of an event of one; all else that it says goes to ``told``."""
    usage = reply.get("usageMetadata")
    if usage:
        written = count_of(usage.get("candidatesTokenCount")) + count_of(usage.get("thoughtsTokenCount"))
        told.usage = usage_of(usage.get("promptTokenCount"), written, usage.get("cachedContentTokenCount"))
    blocked = (reply.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        told.declined = _in_words(blocked)
    texts: list[str] = []
    for candidate in (reply.get("candidates") or ())[:1]:
        told.has_begun = True
        told.model = str(reply.get("modelVersion") or told.model)
        for part in (candidate.get("content") or {}).get("parts") or ():
            told.items.append(part)
            text = part.get("text")
            if not isinstance(text, str | None):
                raise TypeError("the text of a part is none")
            if text and not part.get("thought", False):
                texts.append(text)
            if called := part.get("functionCall"):
                told.calls.append(
                    ToolUse(str(called["name"]), called.get("args") or {}, str(called.get("id") or ""))
                )
        finished = candidate.get("finishReason")
        if finished:
            told.has_ended = True
            told.cut = finished == "MAX_TOKENS"
            told.declined = _in_words(finished) if finished in _DECLINED else told.declined
    return texts


def _in_words(reason: object) -> str:
    return str(reason)[:40].lower().replace("_", " ")


def _json(response: httpx2.Response) -> Mapping[str, Any]:
    """What a response says.

    Raises:
        ServiceFailure: It is an error.
    """
    if response.status_code != 200:
        raise refused(response)
    reply: Mapping[str, Any] = response.json()
    return reply


def _stored(reply: Mapping[str, Any], ttl_s: int) -> StoredCache:
    name = reply["name"]
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("no name of a cache")
    try:
        expires_at = datetime.fromisoformat(reply["expireTime"]).astimezone(UTC)
    except (KeyError, ValueError, TypeError):
        expires_at = datetime.now(UTC) + timedelta(seconds=ttl_s)
    return StoredCache(name, expires_at, count_of((reply.get("usageMetadata") or {}).get("totalTokenCount")))


def refused(response: httpx2.Response) -> ServiceFailure:
    """What a response that is an error means."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    failure = refusal(response.status_code, body, response.request.headers, response.headers)
    for detail in _details(body):
        if detail.get("reason") == "API_KEY_INVALID":
            failure.status = 401  # this service calls a wrong key a bad request
        delay = detail.get("retryDelay")
        if failure.retry_after is None and isinstance(delay, str) and (match := _DELAY.fullmatch(delay)):
            failure.retry_after = float(match[1])
    return failure


def _details(body: object) -> list[Mapping[str, object]]:
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    return [each for each in details if isinstance(each, Mapping)] if isinstance(details, list) else []
