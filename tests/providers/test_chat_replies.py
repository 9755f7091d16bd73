"""Chat replies: streamed pieces, text and token counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from werkzeug import Response

from engine.errors import SendFailed
from engine.providers.chat import ChatRequest, Usage
from tests.providers.chat_service import REQUEST, ChatService, Listener, ask


async def test_the_reply_is_streamed_with_its_tokens(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("Ann ", "likes\x1b[31m ", "tea.\r\n"))
    heard = Listener()
    reply = await ask(chat.chat(), on_text=heard)
    assert heard.pieces == ["Ann ", "likes\x1b[31m ", "tea.\r\n"], "the pieces were changed"
    assert reply.text == "Ann likes\x1b[31m tea.\r\n"
    assert (reply.model, reply.cut, reply.cost_usd) == ("some-model-1", False, None)
    written = {"anthropic": (70, 50), "openai": (70, 0), "gemini": (0, 0)}[chat.name]
    assert reply.usage == Usage(
        input_tokens=300,
        cached_tokens=200,
        cache_write_tokens=written[0],
        cache_write_1h_tokens=written[1],
        output_tokens=12,
    )


async def test_each_piece_is_passed_on_before_the_next_arrives(chat: ChatService) -> None:
    heard = Listener()

    def slowly() -> Iterator[bytes]:
        yield from (*chat.head(), chat.piece("one"))
        while not heard.pieces:
            time.sleep(0.01)
        yield from (chat.piece("two"), *chat.tail())

    chat.respond_with(Response(slowly(), content_type="text/event-stream"))
    assert (await ask(chat.chat(), on_text=heard)).text == "onetwo"
    assert heard.pieces == ["one", "two"]


async def test_an_empty_reply_is_valid(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply())
    heard = Listener()
    reply = await ask(chat.chat(), on_text=heard)
    assert (reply.text, heard.pieces, reply.usage.output_tokens) == ("", [], 12)


async def test_a_reply_cut_at_the_limit_is_marked(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("Ann", why=chat.cut))
    reply = await ask(chat.chat())
    assert (reply.text, reply.cut) == ("Ann", True)


async def test_unknown_events_are_ignored(chat: ChatService) -> None:
    strange = [
        chat.event({"type": "weather_report", "sun": [1, {"deep": None}]}),
        b": a comment\n\n",
        *([] if chat.name == "openai" else [b"event: nothing\n\n"]),  # OpenAI's events have no names.
    ]
    chat.respond_with(chat.stream_events([*chat.head(), *strange, chat.piece("tea"), *strange, *chat.tail()]))
    assert (await ask(chat.chat())).text == "tea"


async def test_thinking_is_not_part_of_the_reply(chat: ChatService) -> None:
    thought = {
        "anthropic": {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm"},
        },
        "openai": {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm"}, "finish_reason": None}]},
        "gemini": {"candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}]}}]},
    }[chat.name]
    chat.respond_with(
        chat.stream_events([*chat.head(), chat.event(thought), chat.piece("tea"), *chat.tail()])
    )
    assert (await ask(chat.chat())).text == "tea"


async def test_surrogate_pairs_are_joined_and_lone_surrogates_replaced(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("a\ud83d", "\ude00b", "\ude00", "\ud83d", "c", "\ud83d"))
    heard = Listener()
    reply = await ask(chat.chat(), on_text=heard)
    assert reply.text == "a\U0001f600b\ufffd\ufffdc\ufffd" == "".join(heard.pieces)
    assert all(piece.encode() for piece in heard.pieces)


async def test_characters_that_cannot_be_sent_are_replaced(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("tea"))
    request = ChatRequest(("a\ud800b",), "c\udfffd", 10)
    assert (await ask(chat.chat(), request)).text == "tea"
    assert (chat.system(chat.bodies[0]), chat.message(chat.bodies[0])) == ("a?b", "c?d")


@pytest.mark.parametrize("error", [BrokenPipeError("the pager was closed"), ValueError("a bug"), KeyError(7)])
async def test_an_exception_in_the_listener_propagates(chat: ChatService, error: Exception) -> None:
    chat.respond_with(chat.stream_reply("one", "two"))

    def listen(_text: str) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await ask(chat.chat(), on_text=listen)
    assert caught.value is error
    assert len(chat.bodies) == 1


async def test_an_impossibly_long_reply_is_aborted(
    chat: ChatService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.providers.transport.REPLY_LIMIT", 1000)
    chat.respond_with(chat.drip("x" * 600, "y" * 600))
    with pytest.raises(SendFailed, match="wrote more than 1,000 characters") as caught:
        await ask(chat.chat())
    assert len(caught.value.partial) == 1200


async def test_two_chats_at_once_do_not_mix(chat: ChatService) -> None:
    chat.respond_with(chat.stream_reply("one ", "two"), chat.stream_reply("three ", "four"))
    provider = chat.chat()
    try:
        replies = await asyncio.gather(*(provider.chat(REQUEST, timeout=20) for _ in range(2)))
    finally:
        await provider.aclose()
    assert {reply.text for reply in replies} == {"one two", "three four"}
