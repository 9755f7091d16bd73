"""A reply of a chat: its pieces as they come, its text, its tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from werkzeug import Response

from engine.errors import SendFailed
from engine.providers.chat import ChatRequest, Usage
from tests.providers.chat_service import REQUEST, ChatService, Heard, ask


async def test_the_reply_comes_in_pieces_with_its_tokens(chat: ChatService) -> None:
    chat.answers(chat.streams("Ann ", "likes\x1b[31m ", "tea.\r\n"))
    heard = Heard()
    reply = await ask(chat.chat(), on_text=heard)
    assert heard.pieces == ["Ann ", "likes\x1b[31m ", "tea.\r\n"], "nothing is changed"
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


async def test_a_piece_is_told_before_the_next_one_is_there(chat: ChatService) -> None:
    heard = Heard()

    def slowly() -> Iterator[bytes]:
        yield from (*chat.head(), chat.piece("one"))
        while not heard.pieces:
            time.sleep(0.01)
        yield from (chat.piece("two"), *chat.tail())

    chat.answers(Response(slowly(), content_type="text/event-stream"))
    assert (await ask(chat.chat(), on_text=heard)).text == "onetwo"
    assert heard.pieces == ["one", "two"]


async def test_an_empty_reply_is_one(chat: ChatService) -> None:
    chat.answers(chat.streams())
    heard = Heard()
    reply = await ask(chat.chat(), on_text=heard)
    assert (reply.text, heard.pieces, reply.usage.output_tokens) == ("", [], 12)


async def test_a_reply_cut_at_the_limit_says_so(chat: ChatService) -> None:
    chat.answers(chat.streams("Ann", why=chat.cut))
    reply = await ask(chat.chat())
    assert (reply.text, reply.cut) == ("Ann", True)


async def test_events_of_other_kinds_are_passed_over(chat: ChatService) -> None:
    strange = [
        chat.event({"type": "weather_report", "sun": [1, {"deep": None}]}),
        b": a comment\n\n",
        *([] if chat.name == "openai" else [b"event: nothing\n\n"]),  # no server of that kind names events
    ]
    chat.answers(chat.sends([*chat.head(), *strange, chat.piece("tea"), *strange, *chat.tail()]))
    assert (await ask(chat.chat())).text == "tea"


async def test_what_a_model_thinks_is_no_part_of_the_reply(chat: ChatService) -> None:
    thought = {
        "anthropic": {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm"},
        },
        "openai": {"choices": [{"index": 0, "delta": {"reasoning_content": "Hm"}, "finish_reason": None}]},
        "gemini": {"candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}]}}]},
    }[chat.name]
    chat.answers(chat.sends([*chat.head(), chat.event(thought), chat.piece("tea"), *chat.tail()]))
    assert (await ask(chat.chat())).text == "tea"


async def test_halves_of_a_character_are_joined_and_single_ones_replaced(chat: ChatService) -> None:
    chat.answers(chat.streams("a\ud83d", "\ude00b", "\ude00", "\ud83d", "c", "\ud83d"))
    heard = Heard()
    reply = await ask(chat.chat(), on_text=heard)
    assert reply.text == "a\U0001f600b\ufffd\ufffdc\ufffd" == "".join(heard.pieces)
    assert all(piece.encode() for piece in heard.pieces)


async def test_what_cannot_be_sent_is_replaced(chat: ChatService) -> None:
    chat.answers(chat.streams("tea"))
    request = ChatRequest(("a\ud800b",), "c\udfffd", 10)
    assert (await ask(chat.chat(), request)).text == "tea"
    assert (chat.system(chat.bodies[0]), chat.message(chat.bodies[0])) == ("a?b", "c?d")


@pytest.mark.parametrize("error", [BrokenPipeError("the pager was closed"), ValueError("a bug"), KeyError(7)])
async def test_what_the_listener_raises_is_not_taken_for_a_failure(
    chat: ChatService, error: Exception
) -> None:
    chat.answers(chat.streams("one", "two"))

    def listen(_text: str) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await ask(chat.chat(), on_text=listen)
    assert caught.value is error
    assert len(chat.bodies) == 1


async def test_a_reply_that_no_model_writes_is_given_up(
    chat: ChatService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.providers.transport.REPLY_LIMIT", 1000)
    chat.answers(chat.drips("x" * 600, "y" * 600))
    with pytest.raises(SendFailed, match="wrote more than 1,000 characters") as caught:
        await ask(chat.chat())
    assert len(caught.value.partial) == 1200


async def test_two_chats_at_once_do_not_mix(chat: ChatService) -> None:
    chat.answers(chat.streams("one ", "two"), chat.streams("three ", "four"))
    provider = chat.chat()
    try:
        replies = await asyncio.gather(*(provider.chat(REQUEST, timeout=20) for _ in range(2)))
    finally:
        await provider.aclose()
    assert {reply.text for reply in replies} == {"one two", "three four"}
