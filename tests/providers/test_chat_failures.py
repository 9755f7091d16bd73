"""Whatever a service does to a chat, it ends within the one deadline, and what had come is kept (N1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from werkzeug import Request, Response

from engine.errors import SendFailed
from engine.providers import attempts
from tests.providers.chat_service import ChatService, Heard, ask
from tests.providers.conftest import PROVIDERS, json_response
from tests.providers.responses_service import ResponsesService


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_PAUSE_S", 0.01)


async def test_a_failing_service_is_tried_three_times(chat: ChatService) -> None:
    chat.answers(json_response(chat.error("boom"), 500))
    with pytest.raises(SendFailed, match="the service failed \\(500\\), 3 times; try again later") as caught:
        await ask(chat.chat())
    assert len(chat.bodies) == 3 and caught.value.partial == ""


async def test_a_service_that_recovers_is_not_an_error(chat: ChatService) -> None:
    chat.answers(
        json_response(chat.error("slow down"), 429, {"Retry-After": "0.05"}),
        json_response(chat.error("boom"), 500),
        chat.streams("tea"),
    )
    heard = Heard()
    assert (await ask(chat.chat(), on_text=heard)).text == "tea"
    assert heard.pieces == ["tea"] and len(chat.bodies) == 3


async def test_retry_after_is_waited_for(chat: ChatService) -> None:
    chat.answers(json_response(chat.error("slow down"), 429, {"Retry-After": "0.4"}), chat.streams("tea"))
    begun = time.monotonic()
    assert (await ask(chat.chat())).text == "tea"
    assert time.monotonic() - begun >= 0.4


async def test_retry_after_beyond_the_deadline_ends_it_at_once(chat: ChatService) -> None:
    chat.answers(json_response(chat.error("slow down"), 429, {"Retry-After": "120"}))
    with pytest.raises(SendFailed, match=r"too many requests \(429\); retry after 120 s; wait"):
        await ask(chat.chat())
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("texts", [(), ("Ann likes",)], ids=["before-the-text", "within-the-text"])
async def test_a_dripping_reply_ends_at_the_deadline(chat: ChatService, texts: tuple[str, ...]) -> None:
    chat.answers(chat.drips(*texts))
    with pytest.raises(SendFailed, match=r"no answer within 0\.6 s; raise chat\.deadline_s") as caught:
        await ask(chat.chat(), timeout=0.6)
    assert not chat.release.is_set()  # it would go on for ever
    assert caught.value.partial == "".join(texts)


async def test_a_reply_that_does_not_come_ends_at_the_deadline(chat: ChatService) -> None:
    chat.answers(json_response(chat.error("boom"), 500), chat.until_released)
    with pytest.raises(SendFailed, match=r"no answer within 0\.6 s"):
        await ask(chat.chat(), timeout=0.6)
    assert len(chat.bodies) == 2


@pytest.mark.parametrize("when", ["waiting", "before-the-text", "within-the-text"])
async def test_cancelling_ends_it(chat: ChatService, when: str) -> None:
    texts = ("Ann likes",) if when == "within-the-text" else ()
    chat.answers(chat.until_released if when == "waiting" else chat.drips(*texts))
    heard = Heard()
    task = asyncio.ensure_future(ask(chat.chat(), timeout=600, on_text=heard))
    while not chat.bodies or len(heard.pieces) < len(texts):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=60.0)
    assert done and task.cancelled() and not chat.release.is_set()


def _half(chat: ChatService) -> list[bytes]:
    return [*chat.head(), chat.piece("Ann "), chat.piece("likes")]


def _torn(chat: ChatService) -> Response:
    """A connection that breaks off within the body."""
    begun = b"".join(_half(chat))
    return Response(
        iter([begun]),
        headers={"Content-Length": str(len(begun) + 100)},
        content_type="text/event-stream",
    )


@pytest.mark.parametrize("how", ["torn", "ended", "json", "utf-8"])
async def test_a_reply_cut_in_the_text_is_not_begun_anew(chat: ChatService, how: str) -> None:
    match how:
        case "torn":
            first = _torn(chat)
        case "ended":
            first = chat.sends(_half(chat))
        case "json":
            first = chat.sends([*_half(chat), chat.piece(" tea")[:-9] + b"\n\n"])
        case _:
            # Gemini's is read with what is wrong replaced, and then ends without its mark.
            first = chat.sends([*_half(chat), b"event: \xff\xfe\ndata: \xff\n\n"])
    chat.answers(first, chat.streams("whole"))
    heard = Heard()
    with pytest.raises(SendFailed, match="the reply was cut off; try again") as caught:
        await ask(chat.chat(), on_text=heard)
    assert caught.value.partial == "Ann likes" == "".join(heard.pieces)
    # Only Anthropic tells at the beginning what was sent.
    assert (caught.value.usage is not None) == (chat.name == "anthropic")
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", list(PROVIDERS), indirect=True)
async def test_what_was_told_of_tokens_before_it_broke_off_is_kept(chat: ChatService) -> None:
    told = chat.event({"usageMetadata": {"promptTokenCount": 300, "candidatesTokenCount": 12}})
    if chat.name != "gemini":
        told = chat.tail()[1]
    chat.answers(chat.sends([*chat.head(), chat.piece("Ann likes"), told]))
    with pytest.raises(SendFailed, match="cut off") as caught:
        await ask(chat.chat())
    assert caught.value.partial == "Ann likes" and caught.value.usage is not None
    assert (caught.value.usage.input_tokens, caught.value.usage.output_tokens) == (300, 12)


async def test_a_reply_cut_before_its_text_is_tried_again(chat: ChatService) -> None:
    begun = b"".join(chat.head()) or b": nothing yet\n\n"
    torn = Response(
        iter([begun]), headers={"Content-Length": str(len(begun) + 9)}, content_type="text/event-stream"
    )
    chat.answers(torn, chat.streams("tea"))
    assert (await ask(chat.chat())).text == "tea"
    assert len(chat.bodies) == 2


async def test_an_error_within_a_reply_before_its_text_is_tried_again(chat: ChatService) -> None:
    overloaded = chat.fault("overloaded_error", 529, "Overloaded")
    chat.answers(chat.sends([*chat.head(), overloaded]), chat.streams("tea"))
    assert (await ask(chat.chat())).text == "tea"


async def test_an_error_within_the_text_ends_it(chat: ChatService) -> None:
    chat.answers(chat.sends([*_half(chat), chat.fault("overloaded_error", 529, "Overloaded")]))
    status = 500 if isinstance(chat, ResponsesService) else 529
    with pytest.raises(SendFailed, match=rf"the service failed \({status}\)") as caught:
        await ask(chat.chat())
    assert caught.value.partial == "Ann likes" and len(chat.bodies) == 1


async def test_an_error_of_no_known_kind_is_one_of_the_service(chat: ChatService) -> None:
    chat.answers(chat.sends([*_half(chat), chat.fault("strange", 7, "What?")]))
    with pytest.raises(SendFailed, match=r"the service failed \(500\)"):
        await ask(chat.chat())


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<html>It works!</html>", "text/html"),
        (b"", "text/event-stream"),
        (b"data: {}\n\n", "text/event-stream"),
        (b'event: message_start\ndata: {"choices": 7, "candidates": [8]}\n\n', "text/event-stream"),
        (b"event: message_start\ndata: " + b"[" * 100_000 + b"\n\n", "text/event-stream"),
        (b'event: message_start\ndata: "', "text/event-stream"),
    ],
    ids=["html", "empty", "nothing", "types", "deep", "cut"],
)
async def test_a_reply_that_is_none_is_an_error(chat: ChatService, body: bytes, content_type: str) -> None:
    chat.answers(Response(body, content_type=content_type))
    with pytest.raises(SendFailed, match=r"the reply (could not be read|was cut off)") as caught:
        await ask(chat.chat())
    assert caught.value.partial == ""


async def test_a_server_that_is_not_there(chat: ChatService, nowhere: str) -> None:
    with pytest.raises(SendFailed, match="cannot be reached, 3 times") as caught:
        await ask(chat.chat(address=nowhere))
    assert caught.value.hint == "check the network and chat.base_url"


async def test_a_model_that_is_not_there(chat: ChatService) -> None:
    chat.answers(json_response(chat.error("no such model"), 404))
    with pytest.raises(SendFailed, match="some-model was not found \\(404\\): no such model") as caught:
        await ask(chat.chat())
    assert caught.value.hint == "set chat.model to a model that it offers"
    assert len(chat.bodies) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
        (400, "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."),
        (413, "Request exceeds the maximum size: too large"),
    ],
)
async def test_a_prompt_that_is_too_long_names_what_makes_it_shorter(
    chat: ChatService, status: int, message: str
) -> None:
    chat.answers(json_response(chat.error(message), status))
    with pytest.raises(SendFailed, match="some-model does not accept this much input") as caught:
        await ask(chat.chat())
    assert caught.value.hint == "lower context_compiler.token_budget or chat.max_tokens"
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["openai", "responses"], indirect=True)
@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        (
            "context_length_exceeded",
            "Your input exceeds the context window.",
            "some-model does not accept this much input",
        ),
        (
            "insufficient_quota",
            "You exceeded your current quota.",
            r"the account has insufficient credit \(402\)",
        ),
    ],
)
async def test_an_error_within_a_reply_that_another_try_would_meet_too_ends_it(
    chat: ChatService, code: str, message: str, said: str
) -> None:
    fault = chat.fault("", 500, message).replace(b"server_error", code.encode())
    chat.answers(chat.sends([*chat.head(), fault.replace(b'"code": 500', f'"code": "{code}"'.encode())]))
    with pytest.raises(SendFailed, match=said):
        await ask(chat.chat())
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["responses"], indirect=True)
async def test_an_error_without_words_is_told_by_its_code(chat: ChatService) -> None:
    fault = chat.fault("", 500, "").replace(b"server_error", b"context_length_exceeded")
    chat.answers(chat.sends([*chat.head(), fault]))
    with pytest.raises(SendFailed, match="does not accept this much input") as caught:
        await ask(chat.chat())
    assert caught.value.hint == "lower context_compiler.token_budget or chat.max_tokens"


async def test_a_model_that_declines_says_so(chat: ChatService) -> None:
    why = {"anthropic": "refusal", "openai": "content_filter"}.get(chat.name, "PROHIBITED_CONTENT")
    chat.answers(chat.streams("I ", why=why))
    said = {"anthropic": "refusal", "openai": "content filter"}.get(chat.name, "prohibited content")
    with pytest.raises(SendFailed, match=f"some-model declined to answer \\({said}\\)") as caught:
        await ask(chat.chat())
    assert caught.value.partial == "I " and "chat.model" in caught.value.hint
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["gemini"], indirect=True)
async def test_a_prompt_that_is_blocked_says_so(chat: ChatService) -> None:
    chat.answers(chat.sends([chat.event({"promptFeedback": {"blockReason": "SAFETY"}})]))
    with pytest.raises(SendFailed, match="declined to answer \\(safety\\)"):
        await ask(chat.chat())


async def test_a_connection_that_stays_open_after_the_end_holds_nothing_up(chat: ChatService) -> None:
    def stays(_: Request) -> Response:
        def events() -> Iterator[bytes]:
            end = [event for event in chat.tail() if b"[DONE]" not in event]
            yield from (*chat.head(), chat.piece("tea"), *end)
            chat.release.wait(30)

        return Response(events(), content_type="text/event-stream")

    chat.answers(stays)
    reply = await ask(chat.chat(), timeout=5)
    assert (reply.text, reply.usage.output_tokens) == ("tea", 12)
