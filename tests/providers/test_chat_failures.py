"""Whatever the service does, a chat ends within its deadline and keeps the text received so far (N1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest
from werkzeug import Request, Response

from engine.errors import SendFailed
from engine.providers import attempts
from tests.providers.chat_service import ChatService, Listener, ask
from tests.providers.conftest import PROVIDERS, json_response
from tests.providers.deadlines import LATER, passed_once
from tests.providers.responses_service import ResponsesService


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_PAUSE_S", 0.01)


async def test_a_failing_service_is_tried_three_times(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("boom"), 500))
    with pytest.raises(SendFailed, match="the service failed \\(500\\), 3 times; try again later") as caught:
        await ask(chat.chat())
    assert len(chat.bodies) == 3 and caught.value.partial == ""


async def test_a_service_that_recovers_is_no_error(chat: ChatService) -> None:
    chat.respond_with(
        json_response(chat.error("slow down"), 429, {"Retry-After": "0.05"}),
        json_response(chat.error("boom"), 500),
        chat.stream_reply("tea"),
    )
    heard = Listener()
    assert (await ask(chat.chat(), on_text=heard)).text == "tea"
    assert heard.pieces == ["tea"] and len(chat.bodies) == 3


async def test_retry_after_is_respected(chat: ChatService) -> None:
    chat.respond_with(
        json_response(chat.error("slow down"), 429, {"Retry-After": "0.4"}), chat.stream_reply("tea")
    )
    begun = time.monotonic()
    assert (await ask(chat.chat())).text == "tea"
    assert time.monotonic() - begun >= 0.4


async def test_retry_after_beyond_the_deadline_fails_at_once(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("slow down"), 429, {"Retry-After": "120"}))
    with pytest.raises(SendFailed, match=r"too many requests \(429\); retry after 120 s; wait"):
        await ask(chat.chat())
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("texts", [(), ("Ann likes",)], ids=["before-the-text", "within-the-text"])
async def test_a_dripping_reply_ends_at_the_deadline(chat: ChatService, texts: tuple[str, ...]) -> None:
    chat.respond_with(chat.drip(*texts))
    heard, wrong = Listener(), r"no answer within 600 s; raise chat\.deadline_s"
    with (
        passed_once(lambda: chat.bodies and len(heard.pieces) == len(texts)),
        pytest.raises(SendFailed, match=wrong) as caught,
    ):
        await ask(chat.chat(), timeout=LATER, on_text=heard)
    assert not chat.release.is_set()  # It would go on forever.
    assert caught.value.partial == "".join(texts)


async def test_a_missing_reply_ends_at_the_deadline(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("boom"), 500), chat.hang)
    with (
        passed_once(lambda: len(chat.bodies) == 2),
        pytest.raises(SendFailed, match="no answer within 600 s"),
    ):
        await ask(chat.chat(), timeout=LATER)
    assert len(chat.bodies) == 2


@pytest.mark.parametrize("when", ["waiting", "before-the-text", "within-the-text"])
async def test_cancelling_ends_the_chat(chat: ChatService, when: str) -> None:
    texts = ("Ann likes",) if when == "within-the-text" else ()
    chat.respond_with(chat.hang if when == "waiting" else chat.drip(*texts))
    heard = Listener()
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
async def test_a_reply_interrupted_within_its_text_is_not_retried(chat: ChatService, how: str) -> None:
    match how:
        case "torn":
            first = _torn(chat)
        case "ended":
            first = chat.stream_events(_half(chat))
        case "json":
            first = chat.stream_events([*_half(chat), chat.piece(" tea")[:-9] + b"\n\n"])
        case _:
            # Gemini's stream is decoded with replacements and then ends without its final event.
            first = chat.stream_events([*_half(chat), b"event: \xff\xfe\ndata: \xff\n\n"])
    chat.respond_with(first, chat.stream_reply("whole"))
    heard = Listener()
    with pytest.raises(SendFailed, match="the reply was cut off; try again") as caught:
        await ask(chat.chat(), on_text=heard)
    assert caught.value.partial == "Ann likes" == "".join(heard.pieces)
    # Only Anthropic reports the input tokens at the beginning.
    assert (caught.value.usage is not None) == (chat.name == "anthropic")
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", list(PROVIDERS), indirect=True)
async def test_token_counts_received_before_an_interruption_are_kept(chat: ChatService) -> None:
    event = chat.event({"usageMetadata": {"promptTokenCount": 300, "candidatesTokenCount": 12}})
    if chat.name != "gemini":
        event = chat.tail()[1]
    chat.respond_with(chat.stream_events([*chat.head(), chat.piece("Ann likes"), event]))
    with pytest.raises(SendFailed, match="cut off") as caught:
        await ask(chat.chat())
    assert caught.value.partial == "Ann likes" and caught.value.usage is not None
    assert (caught.value.usage.input_tokens, caught.value.usage.output_tokens) == (300, 12)


async def test_a_reply_interrupted_before_its_text_is_retried(chat: ChatService) -> None:
    begun = b"".join(chat.head()) or b": nothing yet\n\n"
    torn = Response(
        iter([begun]), headers={"Content-Length": str(len(begun) + 9)}, content_type="text/event-stream"
    )
    chat.respond_with(torn, chat.stream_reply("tea"))
    assert (await ask(chat.chat())).text == "tea"
    assert len(chat.bodies) == 2


async def test_an_error_event_before_the_text_is_retried(chat: ChatService) -> None:
    overloaded = chat.error_event("overloaded_error", 529, "Overloaded")
    chat.respond_with(chat.stream_events([*chat.head(), overloaded]), chat.stream_reply("tea"))
    assert (await ask(chat.chat())).text == "tea"


async def test_an_error_event_within_the_text_ends_the_chat(chat: ChatService) -> None:
    chat.respond_with(
        chat.stream_events([*_half(chat), chat.error_event("overloaded_error", 529, "Overloaded")])
    )
    status = 500 if isinstance(chat, ResponsesService) else 529
    with pytest.raises(SendFailed, match=rf"the service failed \({status}\)") as caught:
        await ask(chat.chat())
    assert caught.value.partial == "Ann likes" and len(chat.bodies) == 1


async def test_an_unknown_kind_of_error_counts_as_a_service_error(chat: ChatService) -> None:
    chat.respond_with(chat.stream_events([*_half(chat), chat.error_event("strange", 7, "What?")]))
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
async def test_an_invalid_reply_is_an_error(chat: ChatService, body: bytes, content_type: str) -> None:
    chat.respond_with(Response(body, content_type=content_type))
    with pytest.raises(SendFailed, match=r"the reply (could not be read|was cut off)") as caught:
        await ask(chat.chat())
    assert caught.value.partial == ""


async def test_an_unreachable_server_is_an_error(chat: ChatService, nowhere: str) -> None:
    with pytest.raises(SendFailed, match="cannot be reached, 3 times") as caught:
        await ask(chat.chat(address=nowhere))
    assert caught.value.hint == "check the network and chat.base_url"


async def test_an_unknown_model_is_an_error(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("no such model"), 404))
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
async def test_a_too_long_prompt_names_the_settings_to_shorten_it(
    chat: ChatService, status: int, message: str
) -> None:
    chat.respond_with(json_response(chat.error(message), status))
    with pytest.raises(SendFailed, match="some-model does not accept this much input") as caught:
        await ask(chat.chat())
    assert caught.value.hint == "lower context_compiler.token_budget or chat.max_tokens"
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["openai", "responses"], indirect=True)
@pytest.mark.parametrize(
    ("code", "message", "expected"),
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
async def test_a_permanent_error_event_is_not_retried(
    chat: ChatService, code: str, message: str, expected: str
) -> None:
    fault = chat.error_event("", 500, message).replace(b"server_error", code.encode())
    chat.respond_with(
        chat.stream_events([*chat.head(), fault.replace(b'"code": 500', f'"code": "{code}"'.encode())])
    )
    with pytest.raises(SendFailed, match=expected):
        await ask(chat.chat())
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["responses"], indirect=True)
async def test_an_error_without_a_message_is_reported_by_its_code(chat: ChatService) -> None:
    fault = chat.error_event("", 500, "").replace(b"server_error", b"context_length_exceeded")
    chat.respond_with(chat.stream_events([*chat.head(), fault]))
    with pytest.raises(SendFailed, match="does not accept this much input") as caught:
        await ask(chat.chat())
    assert caught.value.hint == "lower context_compiler.token_budget or chat.max_tokens"


async def test_a_refusal_of_the_model_is_reported(chat: ChatService) -> None:
    why = {"anthropic": "refusal", "openai": "content_filter"}.get(chat.name, "PROHIBITED_CONTENT")
    chat.respond_with(chat.stream_reply("I ", why=why))
    expected = {"anthropic": "refusal", "openai": "content filter"}.get(chat.name, "prohibited content")
    with pytest.raises(SendFailed, match=f"some-model declined to answer \\({expected}\\)") as caught:
        await ask(chat.chat())
    assert caught.value.partial == "I " and "chat.model" in caught.value.hint
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("chat", ["gemini"], indirect=True)
async def test_a_blocked_prompt_is_reported(chat: ChatService) -> None:
    chat.respond_with(chat.stream_events([chat.event({"promptFeedback": {"blockReason": "SAFETY"}})]))
    with pytest.raises(SendFailed, match="declined to answer \\(safety\\)"):
        await ask(chat.chat())


async def test_a_connection_left_open_after_the_end_causes_no_delay(chat: ChatService) -> None:
    def stays(_: Request) -> Response:
        def events() -> Iterator[bytes]:
            end = [event for event in chat.tail() if b"[DONE]" not in event]
            yield from (*chat.head(), chat.piece("tea"), *end)
            chat.release.wait(30)

        return Response(events(), content_type="text/event-stream")

    chat.respond_with(stays)
    reply = await ask(chat.chat())
    assert (reply.text, reply.usage.output_tokens) == ("tea", 12)
