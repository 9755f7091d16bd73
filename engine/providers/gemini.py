"""Completions from Google's Gemini API, through its REST endpoint ``models.generateContent``.

One small request of one form does not need the ``google-genai`` package: it would be one more thing to
install, to import for half a second and to keep from retrying on its own. The HTTP client that the packages
of the other providers bring along is used directly.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from engine.providers.attempts import ServiceFailure
from engine.providers.base import Completion, count_of
from engine.providers.keys import NO_KEY
from engine.providers.network import (
    CLIENT_TIMEOUT_S,
    NetworkProvider,
    Request,
    Service,
    refusal,
)
from engine.providers.outgoing import guarded

if TYPE_CHECKING:
    import httpx2

_ADDRESS = "https://generativelanguage.googleapis.com"
EVENT_LIMIT = 4 * 1024 * 1024
"""Bytes of one event of a stream; one has some kilobytes."""

_VERSIONED = re.compile(r"/v\d\w*/?$")
_LIMIT_SAID = re.compile(r"max_?(?:output_?)?tokens")
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
_VAGUE = "request contains an invalid argument"

Thinking = Literal["budget", "minimal", "low"]
_NEXT_THINKING: dict[Thinking, Thinking | None] = {"budget": None, "minimal": "low", "low": None}
_THINKING: dict[Thinking, dict[str, object]] = {
    "budget": {"thinkingBudget": 0},
    "minimal": {"thinkingLevel": "minimal"},
    "low": {"thinkingLevel": "low"},
}


@dataclass(frozen=True, slots=True)
class Form:
    """The parameters that models differ in."""

    thinking: Thinking | None
    temperature: bool = True
    least_tokens: int = 1


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

    async def post(self, path: str, body: object) -> httpx2.Response:
        """The response to a JSON body."""
        return await self.send("POST", path, body)

    async def send(self, method: str, path: str, body: object = None) -> httpx2.Response:
        """The response to a request with or without a JSON body."""
        return await self._http.request(method, f"{self._root}/{path}", json=body)

    def events(self, path: str, body: object) -> AbstractAsyncContextManager[httpx2.EventSource]:
        """The events that answer a JSON body, one by one."""
        return self._http.sse(f"{self._root}/{path}", method="POST", json=body, max_event_size=EVENT_LIMIT)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()


class GeminiService(Service[Client]):
    """Google's server, or one with its interface. The key is read from ``GEMINI_API_KEY``."""

    name = "gemini"
    key_variable = "GEMINI_API_KEY"
    address_variable = "GOOGLE_GEMINI_BASE_URL"

    def _connect(self) -> Client:
        key = self._key()
        return Client(self.address or os.environ.get(self.address_variable, "") or _ADDRESS, key)

    def _resource(self, method: str) -> str:
        """The path of a method of the model."""
        return f"models/{quote(self.model.removeprefix('models/'), safe='')}:{method}"


class Gemini(GeminiService, NetworkProvider[Form, Client]):
    """Asks a Gemini model."""

    def _first_form(self) -> Form:
        # Models before Gemini 3 count the tokens they may think, later ones have levels and never stop quite.
        return Form("budget" if re.match(r"(?:models/)?gemini-[12]\b", self.model) else "minimal")

    async def _completion(self, client: Client, form: Form, request: Request) -> Completion:
        settings: dict[str, object] = {"maxOutputTokens": max(request.max_tokens, form.least_tokens)}
        if form.temperature:
            settings["temperature"] = request.temperature
        if form.thinking is not None:
            settings["thinkingConfig"] = _THINKING[form.thinking]
        response = await client.post(
            self._resource("generateContent"),
            {
                "systemInstruction": {"parts": [{"text": request.system}]},
                "contents": [{"role": "user", "parts": [{"text": request.prompt}]}],
                "generationConfig": settings,
            },
        )
        if response.status_code != 200:
            raise refused(response)
        return self._read(response.json())

    def _read(self, reply: Mapping[str, Any]) -> Completion:
        usage = reply.get("usageMetadata") or {}
        sent = count_of(usage.get("promptTokenCount"))
        cached = min(count_of(usage.get("cachedContentTokenCount")), sent)
        written = count_of(usage.get("candidatesTokenCount")) + count_of(usage.get("thoughtsTokenCount"))
        texts: list[str] = []
        finished = ""
        if "promptFeedback" not in reply or "candidates" in reply:  # else the question itself was blocked
            candidate = reply["candidates"][0]
            finished = candidate.get("finishReason", "")
            # Without an answer, as when thinking took all tokens, there is no content or it has no parts.
            for part in (candidate.get("content") or {}).get("parts", ()):
                if not part.get("thought", False):
                    texts.append(part["text"])
        return Completion(
            text="".join(texts),
            input_tokens=sent,
            output_tokens=written,
            model=str(reply.get("modelVersion", self.model)),
            cost_usd=self._cost(sent, written, cached),
            cut=finished == "MAX_TOKENS",
            cached_tokens=cached,
        )

    def _adapt(self, form: Form, failure: ServiceFailure) -> Form | None:
        said = failure.said.lower()
        if form.temperature and "temperature" in said:
            return replace(form, temperature=False)
        # Some models refuse what they are told about thinking without naming it.
        if form.thinking is not None and ("thinking" in said or _VAGUE in said):
            return replace(form, thinking=_NEXT_THINKING[form.thinking])
        if form.least_tokens < 16 and _LIMIT_SAID.search(said):
            return replace(form, least_tokens=16)
        return None


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
