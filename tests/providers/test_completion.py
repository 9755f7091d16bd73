"""A completion: what is sent, what comes back, what it costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.providers.anthropic import Anthropic
from engine.providers.openai import OpenAI
from tests.providers.conftest import KEY, Service, complete, json_response


async def test_the_answer_and_its_tokens_come_back(service: Service) -> None:
    service.answers(json_response(service.reply("YES")))
    provider = service.provider()
    done = await provider.complete("S", "P", max_tokens=1, temperature=0.0, timeout=20)
    await provider.aclose()
    assert (done.text, done.input_tokens, done.output_tokens, done.cut) == ("YES", 200, 1, False)
    assert done.model == "some-model"
    assert done.cost_usd is None, "a server of one's own has no known price"


async def test_the_request_is_the_short_one_that_was_asked_for(service: Service) -> None:
    service.answers(json_response(service.reply("NO")))
    await complete(service.provider())
    (body,) = service.bodies
    assert body["model"] == "some-model"
    assert body["max_tokens"] == 1
    assert body["temperature"] == 0
    assert KEY in str(service.headers)
    system, prompt = ("Answer.", "Yes or no?")
    if service.name == "anthropic":
        assert body["system"] == system
        assert body["messages"] == [{"role": "user", "content": prompt}]
        assert body["thinking"] == {"type": "disabled"}
    else:
        assert body["messages"] == [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt},
        ]


async def test_an_answer_cut_at_the_limit_says_so(service: Service) -> None:
    service.answers(json_response(service.reply(None, cut=True)))
    provider = service.provider()
    done = await provider.complete("S", "P", max_tokens=1, temperature=0.0, timeout=20)
    await provider.aclose()
    assert (done.text, done.cut) == ("", True)


@pytest.mark.parametrize("service", ["anthropic"], indirect=True)
async def test_the_price_of_a_known_model_is_told(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", service.address)
    service.answers(json_response(service.reply("YES")))
    provider = Anthropic("haiku")
    done = await provider.complete("S", "P", max_tokens=1, temperature=0.0, timeout=20)
    await provider.aclose()
    assert service.bodies[0]["model"] == "claude-haiku-5-5"
    assert done.cost_usd == pytest.approx((200 * 0.10 + 1 * 0.50) / 1e6)


def test_nothing_is_imported_or_read_before_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code = (
        "import sys\n"
        "from engine.providers.openai import OpenAI\n"
        "from engine.providers.anthropic import Anthropic\n"
        "OpenAI(); Anthropic()\n"
        "sys.exit(bool({'openai', 'anthropic', 'httpx2'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_a_provider_shows_of_itself_names_no_password() -> None:
    shown = repr(OpenAI("m", "https://user:secret@host.example:8443/v1?token=abc"))
    assert "host.example:8443/v1" in shown
    assert "secret" not in shown and "abc" not in shown
