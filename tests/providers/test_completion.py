"""Completions: the request, the reply and its cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.providers import asking
from engine.providers.anthropic import Anthropic
from engine.providers.chat import Usage
from engine.providers.gemini import Gemini
from engine.providers.keys import GATE
from engine.providers.openai import OpenAI
from tests.providers.conftest import KEY, Service, complete, completed, json_response


async def test_the_answer_is_returned_with_its_tokens(service: Service) -> None:
    service.respond_with(json_response(service.reply("YES")))
    done = await completed(service.provider(), max_tokens=1)
    assert (done.text, done.usage, done.cut) == ("YES", Usage(200, output_tokens=1), False)
    assert done.model == "some-model"
    assert done.cost_usd is None, "a custom server has a price"


async def test_the_request_has_the_prompt_and_the_token_limit(service: Service) -> None:
    service.respond_with(json_response(service.reply("NO")))
    await complete(service.provider())
    (body,) = service.bodies
    assert service.limit(body) == 1
    assert service.temperature(body) == 0
    assert service.texts(body) == ("Answer.", "Yes or no?")
    assert KEY in str(service.headers)
    if service.name != "gemini":  # Gemini has the model in the path.
        assert body["model"] == "some-model"
    if service.name == "anthropic":
        assert body["thinking"] == {"type": "disabled"}


async def test_an_answer_cut_at_the_limit_is_marked(service: Service) -> None:
    service.respond_with(json_response(service.reply(None, cut=True)))
    done = await completed(service.provider(), max_tokens=1)
    assert (done.text, done.cut) == ("", True)


@pytest.mark.parametrize("service", ["anthropic"], indirect=True)
async def test_an_answer_cut_at_the_end_of_the_context_is_marked(service: Service) -> None:
    service.respond_with(
        json_response({**service.reply("Half"), "stop_reason": "model_context_window_exceeded"})
    )
    done = await completed(service.provider())
    assert (done.text, done.cut) == ("Half", True)


async def test_without_a_model_in_the_reply_the_requested_one_is_reported(service: Service) -> None:
    reply = service.reply("YES")
    reply.pop("modelVersion" if service.name == "gemini" else "model")
    service.respond_with(json_response(reply))
    assert (await completed(service.provider())).model == "some-model"


@pytest.mark.parametrize("sent", [10**400, -5, "many", None], ids=["huge", "negative", "text", "nothing"])
async def test_an_invalid_token_count_counts_as_zero(service: Service, sent: object) -> None:
    reply = service.reply("YES")
    match service.name:
        case "anthropic":
            reply["usage"]["input_tokens"] = sent
        case "openai":
            reply["usage"]["prompt_tokens"] = sent
        case _:
            reply["usageMetadata"]["promptTokenCount"] = sent
    service.respond_with(json_response(reply))
    assert (await completed(service.provider())).usage == Usage(0, output_tokens=1)


@pytest.mark.parametrize("service", ["openai", "gemini"], indirect=True)
async def test_cached_tokens_do_not_exceed_the_input_tokens(service: Service) -> None:
    reply = service.reply("YES")
    if service.name == "openai":
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 300}
    else:
        reply["usageMetadata"]["cachedContentTokenCount"] = 300
    service.respond_with(json_response(reply))
    assert (await completed(service.provider())).usage == Usage(200, 200, output_tokens=1)


async def test_characters_that_cannot_be_sent_are_replaced(service: Service) -> None:
    service.respond_with(json_response(service.reply("YES")))
    provider = service.provider()
    await asking.complete(provider, "a\ud800b", "c\udfffd", max_tokens=1, timeout=20)
    await provider.aclose()
    assert service.texts(service.bodies[0]) == ("a?b", "c?d")


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_thoughts_are_not_in_the_answer_but_in_its_price(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", service.address)
    reply = service.reply("NO")
    reply["candidates"][0]["content"]["parts"].insert(0, {"text": "Hm, yes?", "thought": True})
    reply["usageMetadata"]["thoughtsTokenCount"] = 9
    service.server.expect_request(
        "/v1beta/models/gemini-3.5-flash-lite:generateContent", method="POST"
    ).respond_with_json(reply)
    done = await completed(Gemini(purpose=GATE), max_tokens=16)
    assert (done.text, done.usage.output_tokens) == ("NO", 10)
    assert done.cost_usd == pytest.approx((200 * 0.30 + 10 * 2.50) / 1e6)


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_a_blocked_prompt_is_an_error(service: Service) -> None:
    service.respond_with(json_response({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}))
    assert await complete(service.provider()) == ""


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_an_address_may_include_the_api_version(service: Service) -> None:
    service.respond_with(json_response(service.reply("YES")))
    assert await complete(service.provider("models/some-model", f"{service.address}/v1beta/")) == "YES"


@pytest.mark.parametrize("service", ["anthropic"], indirect=True)
async def test_the_price_of_a_known_model_is_reported(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", service.address)
    service.respond_with(json_response(service.reply("YES")))
    done = await completed(Anthropic("haiku", purpose=GATE), max_tokens=1)
    assert service.bodies[0]["model"] == "claude-haiku-5-5"
    assert done.cost_usd == pytest.approx((200 * 0.10 + 1 * 0.50) / 1e6)


def test_nothing_is_imported_or_read_before_the_first_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code = (
        "import sys\n"
        "from engine.providers.openai import OpenAI\n"
        "from engine.providers.anthropic import Anthropic\n"
        "from engine.providers.gemini import Gemini\n"
        "from engine.providers.claude_code import ClaudeCode\n"
        "from engine.providers.keys import GATE\n"
        "OpenAI(purpose=GATE); Anthropic(purpose=GATE); Gemini(purpose=GATE); ClaudeCode(purpose=GATE)\n"
        "sys.exit(bool({'openai', 'anthropic', 'httpx2'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_repr_of_a_provider_contains_no_password() -> None:
    shown = repr(OpenAI("m", "https://user:secret@host.example:8443/v1?token=abc", purpose=GATE))
    assert "host.example:8443/v1" in shown
    assert "secret" not in shown and "abc" not in shown
