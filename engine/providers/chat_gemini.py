"""Chats with Google's Gemini API, through its REST endpoint ``models.streamGenerateContent``.

The stable prefix is the system instruction, or stands in a cache that was made of it before and is named
instead (``cache-friendly-context.md`` 3.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from engine.providers.attempts import ServiceFailure
from engine.providers.base import count_of
from engine.providers.caches import CacheGone, StoredCache
from engine.providers.chat import ChatRequest, ToolUse, Usage
from engine.providers.chat_network import ChatNetwork, Told, lower_limit
from engine.providers.gemini import Client, GeminiService, refused
from engine.providers.network import refusal

if TYPE_CHECKING:
    import httpx2

_PAGE, _MOST_PAGES = 1000, 10
"""Caches in one answer, the most that the service lists at once, and answers that are asked for."""
_NAME = re.compile(r"cachedContents/[\w-]{1,200}", re.ASCII)
_CACHE_SAID = re.compile(r"cached ?content", re.IGNORECASE)
_TOOLS_SAID = re.compile(r"function.?(?:call|declaration)|tool")
_LIMIT_SAID = re.compile(r"max_?output_?tokens")
_DECLINED = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"}
)


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that models differ in."""

    most_tokens: int | None = None
    tools: bool = True


class GeminiChat(GeminiService, ChatNetwork[Form, Client]):
    """Chats with a Gemini model; also ``engine.providers.caches.NamedCaches``."""

    async def count(self, request: ChatRequest, *, timeout: float) -> int | None:
        """As ``ChatProvider.count``.

        Raises:
            SendFailed: The service did not answer.
        """

        async def ask(client: Client) -> int:
            # Of a whole request it counts the instruction too; of mere contents it would not.
            content = _content(replace(request, cached_content=""), tools=self._form.tools)
            whole = {"model": self._model_path, **content}
            reply = _json(await client.post(self._resource("countTokens"), {"generateContentRequest": whole}))
            return int(reply["totalTokens"])

        return await self._asked(ask, timeout)

    async def create_cache(
        self, request: ChatRequest, ttl_s: int, *, timeout: float, display_name: str = ""
    ) -> StoredCache:
        """As ``NamedCaches.create_cache``."""
        body = {"model": self._model_path, **_prefix(request, tools=self._form.tools), "ttl": f"{ttl_s}s"}
        if display_name:
            body["displayName"] = display_name
        attempts = 0

        async def ask(client: Client) -> StoredCache:
            nonlocal attempts
            attempts += 1
            if (
                display_name
                and attempts > 1
                and (found := await self._left_behind(client, display_name)) is not None
            ):
                return found
            return _stored(_json(await client.post("cachedContents", body)), ttl_s)

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
        return await self._asked(lambda client: self._displayed(client, display_name), timeout)

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

        async def ask(client: Client) -> StoredCache:
            response = await client.send("PATCH", f"{name}?updateMask=ttl", {"ttl": f"{ttl_s}s"})
            if response.status_code in (403, 404) and self._is_gone(refused(response)):
                raise self._gone(name)
            return _stored(_json(response), ttl_s)

        if _NAME.fullmatch(name) is None:
            raise self._gone("that name")
        return await self._asked(ask, timeout)

    async def delete_cache(self, name: str, *, timeout: float) -> None:
        """As ``NamedCaches.delete_cache``."""

        async def ask(client: Client) -> None:
            response = await client.send("DELETE", name)
            # The service does not tell a cache that is gone from one of somebody else.
            if response.status_code != 404 and not self._is_gone(refused(response)):
                _json(response)

        if _NAME.fullmatch(name) is not None:
            await self._asked(ask, timeout)

    def _first_form(self) -> Form:
        return Form()

    async def _stream(self, form: Form, request: ChatRequest, told: Told) -> AsyncGenerator[str, None]:
        client = await self._connections.get()
        tokens = min(request.max_tokens, form.most_tokens or request.max_tokens)
        body = {**_content(request, tools=form.tools), "generationConfig": {"maxOutputTokens": tokens}}
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
                    raise _told_within(reply["error"], response)
                for text in _texts(reply, told):
                    yield text
                if told.has_ended:
                    return

    def _offers(self, form: Form) -> bool:
        return form.tools

    def _adapt(self, form: Form, failure: ServiceFailure, request: ChatRequest) -> Form | None:
        said = failure.said.lower()
        if form.tools and request.tools and failure.status == 400 and _TOOLS_SAID.search(said):
            return replace(form, tools=False)
        if failure.status == 404 or _LIMIT_SAID.search(said) is None:
            return None
        allowed = lower_limit(said, form.most_tokens or request.max_tokens)
        return None if allowed is None else replace(form, most_tokens=allowed)

    @property
    def _model_path(self) -> str:
        return f"models/{self.model.removeprefix('models/')}"

    def _is_gone(self, failure: ServiceFailure) -> bool:
        return failure.status in (400, 403, 404) and _CACHE_SAID.search(failure.said) is not None

    def _gone(self, name: str) -> CacheGone:
        return CacheGone(
            f"the service holds no cache of {name} for {self.model}",
            where=self.name,
            cure="send again: it is made anew",
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
    """The text of an event; all else that it says goes to ``told``."""
    usage = reply.get("usageMetadata")
    if usage:
        told.usage = Usage(
            input_tokens=count_of(usage.get("promptTokenCount")),
            cached_tokens=count_of(usage.get("cachedContentTokenCount")),
            output_tokens=count_of(usage.get("candidatesTokenCount"))
            + count_of(usage.get("thoughtsTokenCount")),
        )
    blocked = (reply.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        told.declined = _in_words(blocked)
    texts: list[str] = []
    for candidate in (reply.get("candidates") or ())[:1]:
        told.has_begun = True
        told.model = str(reply.get("modelVersion") or told.model)
        for part in (candidate.get("content") or {}).get("parts") or ():
            told.items.append(part)
            if not part.get("thought", False) and isinstance(part.get("text"), str):
                texts.append(part["text"])
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


def _told_within(error: Mapping[str, Any], response: httpx2.Response) -> ServiceFailure:
    """An error in a reply that had begun."""
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return refusal(status, {"error": error}, response.request.headers, {})


def _stored(reply: Mapping[str, Any], ttl_s: int) -> StoredCache:
    name = reply["name"]
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("no name of a cache")
    try:
        expires_at = datetime.fromisoformat(reply["expireTime"]).astimezone(UTC)
    except (KeyError, ValueError, TypeError):
        expires_at = datetime.now(UTC) + timedelta(seconds=ttl_s)
    return StoredCache(name, expires_at, count_of((reply.get("usageMetadata") or {}).get("totalTokenCount")))
