"""Gemini's named caches: created, used in a chat, deleted, expired."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from werkzeug import Request, Response

from engine.errors import SendFailed
from engine.providers.anthropic import Anthropic
from engine.providers.chat import CacheGone, ChatRequest, NamedCaches
from engine.providers.gemini import Gemini
from engine.providers.keys import CHAT
from engine.providers.local import LocalChat
from tests.providers.chat_service import REQUEST, ChatService, ask
from tests.providers.conftest import KEY, json_response

KEPT = ChatRequest(("You are kind.\n",), "What does Ann like?", 10)
NAME = "cachedContents/ez2yh6u6my9"
STORED = {
    "name": NAME,
    "model": "models/some-model",
    "expireTime": "2026-09-07T02:18:17.023637828Z",
    "usageMetadata": {"totalTokenCount": 7021},
}
GONE = {
    "error": {
        "code": 403,
        "message": "CachedContent not found (or permission denied)",
        "status": "PERMISSION_DENIED",
    }
}

pytestmark = pytest.mark.parametrize("chat", ["gemini"], indirect=True)


class Endpoint:
    """Responds on one path and records the requests."""

    def __init__(self, chat: ChatService, path: str, method: str, *responses: Response) -> None:
        self.bodies: list[Any] = []
        self.queries: list[str] = []
        self._waiting = list(responses)
        chat.server.expect_request(f"/v1beta/{path}", method=method).respond_with_handler(self._handle)

    def _handle(self, request: Request) -> Response:
        assert request.headers["x-goog-api-key"] == KEY
        self.bodies.append(request.get_json(silent=True))
        self.queries.append(request.query_string.decode())
        return self._waiting.pop(0) if len(self._waiting) > 1 else self._waiting[0]


def provider(chat: ChatService) -> Gemini:
    return Gemini("some-model", chat.address, purpose=CHAT)


async def test_a_chat_names_the_cache_in_place_of_the_prefix(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    reply = await ask(provider(chat), replace(REQUEST, cached_content=NAME))
    assert chat.bodies == [
        {
            "cachedContent": NAME,
            "contents": [{"role": "user", "parts": [{"text": "What does Ann like?"}]}],
            "generationConfig": {"maxOutputTokens": 100},
        }
    ]
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (300, 200)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "CachedContent not found (or permission denied)"),
        (404, "cachedContents/ez2yh6u6my9 is not found: no such cachedContent"),
        (400, "Model used by GenerateContent request (a) and CachedContent (b) has to be the same."),
    ],
)
async def test_an_expired_cache_has_its_own_error(chat: ChatService, status: int, message: str) -> None:
    chat.respond_with(json_response(chat.error(message), status))
    with pytest.raises(CacheGone, match=f"no cache {NAME} for some-model") as caught:
        await ask(provider(chat), replace(REQUEST, cached_content=NAME))
    assert isinstance(caught.value, SendFailed) and caught.value.__context__ is None
    assert len(chat.bodies) == 1
    with pytest.raises(SendFailed) as other:
        await ask(provider(chat))
    assert type(other.value) is SendFailed, "an error without a cache counted as a missing cache"


async def test_a_rejected_key_is_not_mistaken_for_an_expired_cache(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("Permission denied"), 403))
    with pytest.raises(SendFailed, match="the key was refused") as caught:
        await ask(provider(chat), replace(REQUEST, cached_content=NAME))
    assert type(caught.value) is SendFailed


async def test_a_cache_is_created_from_a_prefix(chat: ChatService) -> None:
    seen = Endpoint(chat, "cachedContents", "POST", json_response({}, 503), json_response(STORED))
    gemini = provider(chat)
    stored = await gemini.create_cache(KEPT, 600, timeout=20)
    await gemini.aclose()
    assert stored == (NAME, datetime(2026, 9, 7, 2, 18, 17, 23637, tzinfo=UTC), 7021)
    assert seen.bodies[-1] == {
        "model": "models/some-model",
        "systemInstruction": {"parts": [{"text": "You are kind.\n"}]},
        "ttl": "600s",
    }
    assert len(seen.bodies) == 2, "a temporary failure was not retried"


async def test_a_too_short_prefix_is_reported(chat: ChatService) -> None:
    message = "Cached content is too small. total_token_count=16, min_total_token_count=1024"
    Endpoint(chat, "cachedContents", "POST", json_response(chat.error(message), 400))
    gemini = provider(chat)
    with pytest.raises(SendFailed, match="Cached content is too small"):
        await gemini.create_cache(KEPT, 600, timeout=20)
    await gemini.aclose()


@pytest.mark.parametrize("reply", [{}, {"name": "../models"}, {"name": 7}, [], {"name": f"{NAME}?x=y"}])
async def test_a_cache_without_a_name_is_an_error(chat: ChatService, reply: object) -> None:
    Endpoint(chat, "cachedContents", "POST", json_response(reply))
    gemini = provider(chat)
    with pytest.raises(SendFailed, match="the reply could not be read"):
        await gemini.create_cache(KEPT, 600, timeout=20)
    await gemini.aclose()


@pytest.mark.parametrize("expiry", [None, "soon", 7])
async def test_a_missing_expiry_is_computed(chat: ChatService, expiry: object) -> None:
    Endpoint(chat, "cachedContents", "POST", json_response({"name": NAME, "expireTime": expiry}))
    gemini = provider(chat)
    stored = await gemini.create_cache(KEPT, 600, timeout=20)
    await gemini.aclose()
    left = stored.expires_at - datetime.now(UTC)
    assert timedelta(seconds=550) < left <= timedelta(seconds=600) and stored.tokens == 0


@pytest.mark.parametrize(
    "response",
    [json_response({}), json_response({}, 404), json_response(GONE, 403)],
    ids=["there", "404", "403"],
)
async def test_deleting_a_cache_succeeds_even_if_it_is_missing(chat: ChatService, response: Response) -> None:
    seen = Endpoint(chat, NAME, "DELETE", response)
    gemini = provider(chat)
    await gemini.delete_cache(NAME, timeout=20)
    await gemini.delete_cache("../models/some-model", timeout=20)
    await gemini.aclose()
    assert seen.bodies == [None]


async def test_a_failed_deletion_of_a_cache_is_an_error(
    chat: ChatService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.providers.attempts._FIRST_PAUSE_S", 0.01)
    seen = Endpoint(chat, NAME, "DELETE", json_response(chat.error("boom"), 500))
    gemini = provider(chat)
    with pytest.raises(SendFailed, match="the service failed \\(500\\), 3 times"):
        await gemini.delete_cache(NAME, timeout=20)
    await gemini.aclose()
    assert len(seen.bodies) == 3


def test_only_gemini_has_named_caches(chat: ChatService) -> None:
    assert isinstance(provider(chat), NamedCaches)
    assert not isinstance(Anthropic("m", chat.address, purpose=CHAT), NamedCaches)
    assert not isinstance(LocalChat(), NamedCaches)
