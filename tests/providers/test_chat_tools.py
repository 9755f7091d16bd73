"""Tools in a chat: offered, called and answered in each service's format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from werkzeug import Request, Response

from engine.context.request import ToolDefinition
from engine.providers.chat import ChatReply, Round, ToolUse
from engine.providers.claude_code import ClaudeCode
from engine.providers.gemini import Gemini
from engine.providers.keys import CHAT
from engine.providers.local import LocalChat
from tests.providers.chat_service import REQUEST, ChatService, ask
from tests.providers.conftest import PROVIDERS, json_response
from tests.providers.responses_service import THOUGHT, ResponsesService

SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
TOOL = ToolDefinition("look", "Looks somewhere.", SCHEMA)
OFFERING = replace(REQUEST, tools=(TOOL,))


async def tool_call(chat: ChatService, text: str = "", arguments: str = '{"at": "tea"}') -> ChatReply:
    chat.respond_with(chat.stream_events(chat.tool_call("look", arguments, text)), chat.stream_reply("Tea."))
    return await ask(chat.chat("gpt-6-sol" if isinstance(chat, ResponsesService) else "some-model"), OFFERING)


async def test_a_tool_is_offered_and_its_call_returned(chat: ChatService) -> None:
    reply = await tool_call(chat, "Let me look.")
    (offered,) = chat.tools(chat.bodies[0])
    schema = {"anthropic": "input_schema", "openai": "parameters"}.get(chat.name, "parametersJsonSchema")
    assert (offered["name"], offered["description"], offered[schema]) == ("look", "Looks somewhere.", SCHEMA)
    (use,) = reply.calls
    assert (use.name, use.arguments, reply.text) == ("look", {"at": "tea"}, "Let me look.")
    assert use.id == ("" if chat.name == "gemini" else "call_1")


async def test_the_tool_result_follows_the_reply_that_called_it(chat: ChatService) -> None:
    first = await tool_call(chat, "Let me look.")
    rounds = (Round(first.items, tuple((use, "In the \ud800cupboard.") for use in first.calls)),)
    assert (await ask(chat.chat(), replace(OFFERING, rounds=rounds))).text == "Tea."
    before, after = chat.turns(chat.bodies[0]), chat.turns(chat.bodies[1])
    answer = "In the ?cupboard."
    expected: list[Any]
    use: dict[str, Any]
    response: dict[str, Any]
    if isinstance(chat, ResponsesService):
        use = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look"}
        use |= {"arguments": '{"at": "tea"}', "status": "completed"}
        output = {"type": "function_call_output", "call_id": "call_1", "output": answer}
        expected = [THOUGHT, use, output]
        assert chat.bodies[0]["include"] == ["reasoning.encrypted_content"]
    elif chat.name == "openai":
        function = {"name": "look", "arguments": '{"at": "tea"}'}
        use = {"type": "function", "id": "call_1", "function": function}
        expected = [
            {"role": "assistant", "content": "Let me look.", "tool_calls": [use]},
            {"role": "tool", "tool_call_id": "call_1", "content": answer},
        ]
    elif chat.name == "anthropic":
        use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": "tea"}}
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": answer}
        expected = [
            {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, use]},
            {"role": "user", "content": [result]},
        ]
    else:
        use = {"functionCall": {"name": "look", "args": {"at": "tea"}}, "thoughtSignature": "c2ln"}
        response = {"functionResponse": {"name": "look", "response": {"result": answer}}}
        expected = [
            {"role": "model", "parts": [{"text": "Let me look."}, use, {"text": ""}]},
            {"role": "user", "parts": [response]},
        ]
    assert after == [*before, *expected]


@pytest.mark.parametrize("chat", ["anthropic", "openai", "responses"], indirect=True)
@pytest.mark.parametrize(("arguments", "read"), [('{"at": ', None), ("[" * 100_000, None), ("", {})])
async def test_unreadable_arguments_become_none(chat: ChatService, arguments: str, read: object) -> None:
    (use,) = (await tool_call(chat, arguments=arguments)).calls
    assert use == ToolUse("look", read, "call_1")


@pytest.mark.parametrize("chat", ["openai"], indirect=True)
async def test_calls_with_the_same_index_are_distinguished_by_their_ids(chat: ChatService) -> None:
    one, two = chat.tool_call("look", '{"at": "tea"}'), chat.tool_call("look", '{"at": "milk"}')
    others = [event.replace(b"call_1", b"call_2") for event in two[1:]]
    chat.respond_with(chat.stream_events([*one[:3], *others]))
    reply = await ask(chat.chat(), OFFERING)
    assert reply.calls == (
        ToolUse("look", {"at": "tea"}, "call_1"),
        ToolUse("look", {"at": "milk"}, "call_2"),
    )


async def test_without_tools_none_are_offered(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    await ask(chat.chat())
    assert "tool" not in str(chat.bodies)


async def test_a_model_that_rejects_tools_is_asked_without_them(chat: ChatService) -> None:
    message = "Function calling is not enabled: the model does not support tools"
    chat.respond_with(json_response(chat.error(message), 400), chat.stream_reply("tea"))
    at_home = isinstance(chat, ResponsesService) or chat.name != "openai"
    provider = type(chat.chat())("some-model", "" if at_home else chat.address, purpose=CHAT)
    for _ in range(2):
        assert (await ask(provider, OFFERING)).text == "tea"
    assert [len(chat.tools(body)) for body in chat.bodies] == [1, 0, 0]
    assert not provider.takes_tools


def test_tools_are_offered_only_to_the_official_servers() -> None:
    for kind in PROVIDERS.values():
        assert (
            kind("m", "", purpose=CHAT).takes_tools
            and not kind("m", "http://localhost:1/v1", purpose=CHAT).takes_tools
        )
    assert not ClaudeCode(purpose=CHAT).takes_tools and not LocalChat().takes_tools


@pytest.mark.parametrize("chat", ["gemini"], indirect=True)
async def test_tools_are_in_the_named_cache_and_not_in_the_request(chat: ChatService) -> None:
    made: list[dict[str, Any]] = []

    def create(request: Request) -> Response:
        made.append(request.get_json())
        return json_response({"name": "cachedContents/k1"})

    chat.server.expect_request("/v1beta/cachedContents", method="POST").respond_with_handler(create)
    chat.respond_with(chat.stream_reply("tea"))
    provider = chat.chat()
    assert isinstance(provider, Gemini)
    await provider.create_cache(OFFERING, 600, timeout=20)
    await ask(provider, replace(OFFERING, cached_content="cachedContents/k1"))
    assert [tool["name"] for tool in chat.tools(made[0])] == ["look"]
    assert "tools" not in chat.bodies[0] and "systemInstruction" not in chat.bodies[0]
