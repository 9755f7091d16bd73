"""A parameter that a model rejects is changed in the request, and the change is remembered."""

from __future__ import annotations

import asyncio
import threading

import pytest
from werkzeug import Request, Response

from engine.errors import GateError
from engine.providers import asking
from engine.providers.anthropic import Anthropic
from engine.providers.keys import GATE
from engine.providers.openai import OpenAI
from tests.providers.conftest import Service, complete, json_response


async def test_a_rejected_temperature_is_omitted_from_then_on(service: Service) -> None:
    service.respond_with(
        json_response(service.error("`temperature` is deprecated for this model."), 400),
        json_response(service.reply("YES")),
    )
    provider = service.provider()
    assert await complete(provider) == "YES"
    assert await complete(provider) == "YES"
    assert [service.temperature(body) for body in service.bodies] == [0, None, None]


async def test_a_rejected_limit_of_one_token_becomes_sixteen(service: Service) -> None:
    service.respond_with(
        json_response(service.error("max_tokens: integer below minimum value, expected >= 16"), 400),
        json_response(service.reply("YES")),
    )
    assert await complete(service.provider()) == "YES"
    assert [service.limit(body) for body in service.bodies] == [1, 16]


@pytest.mark.parametrize("service", ["openai"], indirect=True)
async def test_the_other_name_of_the_token_limit_is_tried(service: Service) -> None:
    service.respond_with(
        json_response(
            service.error(
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            ),
            400,
        ),
        json_response(
            service.error("max_completion_tokens: integer below minimum value. Expected a value >= 16"), 400
        ),
        json_response(service.error("Could not finish the message because max_tokens was reached."), 400),
        json_response(service.reply("NO")),
    )
    assert await complete(service.provider()) == "NO"
    limits = [{k: v for k, v in body.items() if k.startswith("max_")} for body in service.bodies]
    assert limits == [
        {"max_tokens": 1},
        {"max_completion_tokens": 1},
        {"max_completion_tokens": 16},
        {"max_completion_tokens": 256},
    ]


@pytest.mark.parametrize("service", ["openai"], indirect=True)
async def test_a_reasoning_model_gets_the_lowest_effort(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", service.address)
    service.respond_with(
        json_response(service.error("reasoning_effort: 'none' is not supported, use 'minimal'"), 400),
        json_response(service.error("Unsupported value: reasoning_effort 'minimal'"), 400),
        json_response(service.error("Unsupported value: reasoning_effort 'low'"), 400),
        json_response(service.reply("NO")),
    )
    assert await complete(OpenAI(purpose=GATE)) == "NO"
    assert [body.get("reasoning_effort") for body in service.bodies] == ["none", "minimal", "low", None]
    first = service.bodies[0]
    assert first["model"] == "gpt-6-luna"
    assert first["max_completion_tokens"] == 16 and "temperature" not in first


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_a_gemini_model_gets_the_lowest_thinking_level(service: Service) -> None:
    service.respond_with(
        json_response(service.error("Thinking level MINIMAL is not supported for this model."), 400),
        json_response(service.error("Request contains an invalid argument."), 400),
        json_response(service.error("max_output_tokens must be at least 16"), 400),
        json_response(service.reply("NO")),
    )
    assert await complete(service.provider()) == "NO"
    settings = [body["generationConfig"] for body in service.bodies]
    assert [each.get("thinkingConfig") for each in settings] == [
        {"thinkingLevel": "minimal"},
        {"thinkingLevel": "low"},
        None,
        None,
    ]
    assert [each["maxOutputTokens"] for each in settings] == [1, 1, 1, 16]


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_older_gemini_models_get_a_thinking_budget(service: Service) -> None:
    service.server.expect_request(
        "/v1beta/models/gemini-2.5-flash-lite:generateContent", method="POST"
    ).respond_with_handler(
        lambda request: json_response(
            service.reply(str(request.get_json()["generationConfig"]["thinkingConfig"]))
        )
    )
    assert await complete(service.provider("gemini-2.5-flash-lite")) == "{'thinkingBudget': 0}"


@pytest.mark.parametrize("service", ["anthropic"], indirect=True)
async def test_a_model_that_always_thinks_is_supported(service: Service) -> None:
    service.respond_with(
        json_response(service.error("thinking cannot be disabled for this model"), 400),
        json_response(service.reply("NO")),
    )
    assert await complete(service.provider()) == "NO"
    assert ["thinking" in body for body in service.bodies] == [True, False]


@pytest.mark.parametrize("service", ["anthropic"], indirect=True)
async def test_models_known_to_reject_a_temperature_get_none(
    service: Service,
) -> None:
    service.respond_with(json_response(service.reply("NO")))
    for model in ("claude-haiku-5-5", "claude-opus-4-8", "claude-haiku-4-5", "claude-3-haiku-20240307"):
        await complete(Anthropic(model, service.address, purpose=GATE))
    assert ["temperature" in body for body in service.bodies] == [False, False, True, True]


async def test_an_earlier_request_does_not_undo_what_a_later_one_learned(
    service: Service,
) -> None:
    refused = json_response(service.error("`temperature` is deprecated for this model."), 400)
    answered = json_response(service.reply("YES"))
    found_out = threading.Event()

    def slowly(_: Request) -> Response:
        found_out.wait(30)
        return answered

    service.respond_with(slowly, refused, answered)
    provider = service.provider()

    async def asked() -> None:
        await asking.complete(provider, "S", "P", max_tokens=1, timeout=20)

    earlier = asyncio.ensure_future(asked())
    while not service.bodies:
        await asyncio.sleep(0.01)
    await asked()
    found_out.set()
    await earlier
    await asked()
    await provider.aclose()
    assert [service.temperature(body) for body in service.bodies] == [0, 0, None, None]


async def test_a_token_limit_above_the_models_maximum_is_lowered(service: Service) -> None:
    message = {
        "anthropic": "max_tokens: 65536 > 8192, which is the maximum allowed number of output tokens",
        "openai": "max_tokens is too large: 65536. This model supports at most 8192 completion tokens",
        "gemini": "max_output_tokens must be in the range from 1 (inclusive) to 8193 (exclusive).",
    }[service.name]
    service.respond_with(json_response(service.error(message), 400), json_response(service.reply("[]")))
    provider = service.provider()
    assert await complete(provider, max_tokens=65_536) == "[]"
    assert await complete(provider, max_tokens=300) == "[]"
    assert [service.limit(body) for body in service.bodies] == [65_536, 8192, 300]


async def test_any_other_refusal_is_an_error(service: Service) -> None:
    service.respond_with(
        json_response(service.error("messages: at least one\nmessage is\x1b[31m required"), 400)
    )
    with pytest.raises(GateError) as caught:
        await complete(service.provider())
    assert len(service.bodies) == 1
    assert "messages: at least one message is [31m required" in str(caught.value)
    assert str(caught.value).isprintable()


async def test_a_server_that_keeps_rejecting_is_given_up(service: Service) -> None:
    service.respond_with(
        json_response(service.error("temperature thinking reasoning max_tokens minimum"), 400)
    )
    with pytest.raises(GateError, match="the request was refused \\(400\\)"):
        await complete(service.provider())
    assert len(service.bodies) <= 7
