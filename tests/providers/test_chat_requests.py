"""Chat requests: the prefix where the service can cache it, the rest as the message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import SendFailed
from engine.providers.chat import ChatRequest
from engine.providers.claude_code import ClaudeCode
from engine.providers.keys import CHAT
from engine.providers.local import LocalChat
from engine.providers.openai import OpenAI
from engine.providers.pricing import CHAT_MODELS
from engine.providers.select import chat_provider_for
from engine.providers.transport import lower_limit
from engine.settings.model import ChatSettings
from tests.providers.chat_service import REQUEST, ChatService, ask
from tests.providers.conftest import KEY, PROVIDERS, json_response

BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}


async def test_prefix_and_rest_are_sent_in_their_fields(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat())
    (body,) = chat.bodies
    assert chat.system(body) == "You are kind.\nAnn likes tea.\n"
    assert chat.message(body) == "What does Ann like?"
    assert chat.limit(body) == 100
    assert chat.temperature(body) is None
    assert KEY in str(chat.headers)
    if chat.name != "gemini":
        assert body["model"] == "some-model" and body["stream"] is True


async def test_without_a_prefix_there_is_no_system_message(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat(), replace(REQUEST, prefix=(), ttl="5m", cache_key="k"))
    (body,) = chat.bodies
    assert "system" not in body and "systemInstruction" not in body
    assert chat.message(body) == "What does Ann like?"
    assert len(chat.turns(body)) == 1


@pytest.mark.parametrize("chat", ["anthropic"], indirect=True)
async def test_each_piece_of_the_prefix_ends_with_a_cache_breakpoint(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    pieces = ("one", "two", "three")
    await ask(chat.chat(), ChatRequest(pieces, "rest", 9, ttl="1h", cache_key="not for this service"))
    await ask(chat.chat(), ChatRequest(pieces, "rest", 9, ttl="5m"))
    await ask(chat.chat(), ChatRequest(pieces, "rest", 9))
    hour, minutes, none = (body["system"] for body in chat.bodies)
    for blocks, mark in (
        (hour, {"type": "ephemeral", "ttl": "1h"}),
        (minutes, {"type": "ephemeral", "ttl": "5m"}),
    ):
        assert blocks == [{"type": "text", "text": piece, "cache_control": mark} for piece in pieces]
    assert none == [{"type": "text", "text": piece} for piece in pieces]
    assert chat.bodies[0]["messages"] == [{"role": "user", "content": "rest"}]
    assert "prompt_cache_key" not in chat.bodies[0]


@pytest.mark.parametrize("chat", ["anthropic"], indirect=True)
async def test_with_more_pieces_than_breakpoints_the_first_are_unmarked(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat(), ChatRequest(("a", "b", "c", "d", "e"), "rest", 9, ttl="5m"))
    assert ["cache_control" in block for block in chat.bodies[0]["system"]] == [
        False,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("chat", ["anthropic"], indirect=True)
async def test_cache_options_refused_by_the_server_are_dropped_one_by_one(chat: ChatService) -> None:
    chat.respond_with(
        json_response(
            chat.error("system.0.cache_control.ephemeral.ttl: Extra inputs are not permitted"), 400
        ),
        json_response(chat.error("system.0.cache_control: Extra inputs are not permitted"), 400),
        chat.stream_reply("tea"),
    )
    provider = chat.chat()
    await ask(provider, replace(REQUEST, ttl="1h"))
    await ask(provider, replace(REQUEST, ttl="1h"))
    marks = [body["system"][0].get("cache_control") for body in chat.bodies]
    assert marks == [{"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}, None, None]


@pytest.mark.parametrize("chat", ["anthropic"], indirect=True)
async def test_an_unrelated_refusal_keeps_the_cache_options(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("the message says too little"), 400))
    with pytest.raises(SendFailed, match="says too little"):
        await ask(chat.chat(), replace(REQUEST, ttl="1h"))
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["responses"], indirect=True)
@pytest.mark.parametrize("model", ["gpt-5.6-sol", "gpt-6-sol", "gpt-5.10", "gpt-10"])
async def test_newer_models_get_only_explicit_breakpoints(chat: ChatService, model: str) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat(model), replace(REQUEST, cache_key="d1.0", ttl="1h"))
    (body,) = chat.bodies
    assert body == {
        "model": model,
        "input": [
            {
                "role": "system",
                "content": [{"type": "input_text", "text": piece, **BREAKPOINT} for piece in REQUEST.prefix],
            },
            {"role": "user", "content": "What does Ann like?"},
        ],
        "prompt_cache_key": "d1.0",
        "prompt_cache_options": {"mode": "explicit"},
        "max_output_tokens": 100,
        "store": False,
        "stream": True,
    }


@pytest.mark.parametrize("chat", ["responses"], indirect=True)
async def test_newer_models_cache_nothing_unless_requested(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat("gpt-6-sol"))
    (body,) = chat.bodies
    assert body["prompt_cache_options"] == {"mode": "explicit"} and "breakpoint" not in str(body)
    assert "prompt_cache_key" not in body


@pytest.mark.parametrize("chat", ["responses"], indirect=True)
@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-5-nano", "gpt-4o-mini", "o3"])
async def test_older_models_get_only_the_cache_key(chat: ChatService, model: str) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat(model), replace(REQUEST, cache_key="d1.0"))
    (body,) = chat.bodies
    assert body["prompt_cache_key"] == "d1.0" and "prompt_cache_options" not in body
    assert body["input"][0] == {"role": "system", "content": "You are kind.\nAnn likes tea.\n"}


@pytest.mark.parametrize("chat", ["openai"], indirect=True)
async def test_a_compatible_server_gets_only_standard_parameters(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat("gpt-6-sol"), replace(REQUEST, cache_key="d1.0"))
    (body,) = chat.bodies
    assert body["max_tokens"] == 100 and "prompt_cache" not in str(body)
    assert body["messages"][0]["content"] == "You are kind.\nAnn likes tea.\n"


@pytest.mark.parametrize("chat", ["openai"], indirect=True)
@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_with_chat_completions_only_is_supported(chat: ChatService, status: int) -> None:
    chat.server.expect_request("/v1/responses").respond_with_data("404 page not found", status)
    refused = [
        "Unrecognized request argument supplied: stream_options",
        "Unknown parameter: 'messages[0].content[0].prompt_cache_breakpoint'.",
        "Unknown parameter: 'prompt_cache_key'.",
        "Unsupported parameter: 'max_completion_tokens' is not supported, use 'max_tokens'.",
    ]
    chat.respond_with(
        *(json_response(chat.error(message), 400) for message in refused), chat.stream_reply("tea")
    )
    provider = OpenAI("gpt-6-sol", purpose=CHAT)
    for _ in range(2):
        assert (await ask(provider, replace(REQUEST, cache_key="k"))).text == "tea"
    assert len(chat.bodies) == 6
    plain = {
        "model": "gpt-6-sol",
        "messages": [
            {"role": "system", "content": "You are kind.\nAnn likes tea.\n"},
            {"role": "user", "content": "What does Ann like?"},
        ],
        "max_tokens": 100,
        "stream": True,
    }
    assert chat.bodies[-1] == chat.bodies[-2] == plain
    first = chat.bodies[0]
    assert first["messages"][0]["content"] == [
        {"type": "text", "text": piece, **BREAKPOINT} for piece in REQUEST.prefix
    ]
    assert first["prompt_cache_options"] == {"mode": "explicit"} and first["prompt_cache_key"] == "k"


@pytest.mark.parametrize(
    ("chat", "message", "limit"),
    [
        (
            "anthropic",
            "max_tokens: 131072 > 64,000, which is the maximum allowed number of output tokens",
            64000,
        ),
        (
            "openai",
            "max_tokens is too large: 131072. This model supports at most 16384 completion tokens",
            16384,
        ),
        (
            "gemini",
            "max_output_tokens must be in the supported range from 1 (inclusive) to 65537 (exclusive).",
            65536,
        ),
    ],
    indirect=["chat"],
)
async def test_a_token_limit_above_the_models_maximum_is_lowered(
    chat: ChatService, message: str, limit: int
) -> None:
    chat.respond_with(json_response(chat.error(message), 400), chat.stream_reply("tea"))
    provider = chat.chat()
    for tokens in (131072, 131072, 50):
        await ask(provider, replace(REQUEST, max_tokens=tokens))
    assert [chat.limit(body) for body in chat.bodies] == [131072, limit, limit, 50]


def test_a_context_limit_does_not_lower_the_token_limit() -> None:
    assert lower_limit("maximum context length is 4096 tokens, you requested 904 and 4096", 4096) is None
    assert lower_limit("max_tokens must be at least 1", 100) is None


async def test_any_other_refusal_is_an_error(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("messages: at least one\nis\x1b[31m required"), 400))
    with pytest.raises(SendFailed, match="the request was refused \\(400\\): messages: at least one is"):
        await ask(chat.chat())
    assert len(chat.bodies) == 1


def test_the_settings_choose_the_provider() -> None:
    for name, kind in PROVIDERS.items():
        provider = chat_provider_for(ChatSettings(provider=name, base_url="http://localhost:1/v1"))  # type: ignore[arg-type]
        assert type(provider) is kind
        assert (provider.name, provider.model, provider.address) == (
            name,
            CHAT_MODELS[name],
            "http://localhost:1/v1",
        )
        assert chat_provider_for(ChatSettings(provider=name, model="mine")).model == "mine"  # type: ignore[arg-type]
    assert chat_provider_for(ChatSettings(provider="anthropic", model="opus")).model == "claude-opus-5-5"
    command = chat_provider_for(ChatSettings(provider="claude-code"))
    assert type(command) is ClaudeCode and command.model == CHAT_MODELS["claude-code"]
    assert type(chat_provider_for(ChatSettings())) is LocalChat
