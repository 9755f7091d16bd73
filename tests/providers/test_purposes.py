"""A provider's errors advise existing settings, from the group the provider is used for."""

from __future__ import annotations

import asyncio
import re
from dataclasses import fields
from itertools import product

import pytest

from engine.errors import AutopoiesisError
from engine.providers import keys
from engine.providers.asking import Question, complete
from engine.providers.chat import ChatReply, ChatRequest
from engine.providers.keys import CHAT, FLUSH, GATE, HARVEST, Purpose
from engine.providers.openai import OpenAI, OpenAIForm
from engine.providers.reply import Pieces
from engine.providers.select import ServiceSettings, chat_provider_for, completer_for
from engine.settings.catalog import catalog
from engine.settings.model import ChatSettings, FlushSettings, GateSettings, HarvestSettings
from tests.cases import each_case

PURPOSES = [value for value in vars(keys).values() if isinstance(value, Purpose)]


@each_case("purpose", PURPOSES)
def test_every_setting_advised_in_an_error_exists(purpose: Purpose) -> None:
    texts = [value for item in fields(purpose) if isinstance(value := getattr(purpose, item.name), str)]
    named = {name for text in texts for name in re.findall(r"[a-z_]+\.[a-z_]+", text)}
    assert len(named) >= 4
    assert named <= catalog().keys()
    setting, _, value = purpose.keyless_setting.partition(": ")
    assert value in re.split(r", | or ", catalog()[setting].allowed)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
@pytest.mark.parametrize(
    ("kind", "purpose", "without"),
    [
        (GateSettings, GATE, "gate.provider: local"),
        (FlushSettings, FLUSH, "flush.provider: none"),
        (HarvestSettings, HARVEST, "harvest.provider: markers"),
    ],
)
def test_a_missing_key_is_reported_with_the_settings_of_the_caller(
    provider: str,
    kind: type[GateSettings | FlushSettings | HarvestSettings],
    purpose: Purpose,
    without: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in (*keys.OWN_KEY_VARIABLES, *keys.PURPOSE_KEY_VARIABLES, "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    settings: ServiceSettings = kind(provider=provider)  # type: ignore[arg-type]
    found = completer_for(settings)
    assert found is not None
    with pytest.raises(AutopoiesisError) as caught:
        asyncio.run(complete(found, "s", "p", max_tokens=1, timeout=30))
    assert without in caught.value.hint


class Silent(OpenAI):
    """Never answers, but respects the deadline."""

    async def _attempt(self, form: OpenAIForm, request: ChatRequest, pieces: Pieces) -> ChatReply:
        await asyncio.Event().wait()
        raise AssertionError


class Deaf(Silent):
    """Never answers, and ignores the deadline."""

    async def chat(self, *_args: object, **_named: object) -> ChatReply:
        await asyncio.Event().wait()
        raise AssertionError


@each_case("purpose", [GATE, FLUSH, HARVEST, CHAT])
def test_a_missed_deadline_is_reported_with_the_setting_of_the_caller(purpose: Purpose) -> None:
    words = f"openai: no answer within 0.05 s; raise {purpose.deadline}, or try again later"
    with pytest.raises(AutopoiesisError, match=f"^{re.escape(words)}$"):
        asyncio.run(complete(Silent(purpose=purpose), "s", "p", max_tokens=1, timeout=0.05))
    for kind in (Silent, Deaf):
        question = Question(kind(purpose=purpose), "s", "p", max_tokens=1, deadline_s=0.05)
        assert question.answer().error == words


def test_each_group_of_settings_has_its_own_deadline() -> None:
    groups = (GateSettings, FlushSettings, HarvestSettings, ChatSettings)
    for kind, name in product(groups, ("anthropic", "openai", "gemini", "claude-code")):
        found = completer_for(kind(provider=name))
        assert found is not None
        group = kind.__name__.removesuffix("Settings").lower()
        own = "claude_code_deadline_s" if (group, name) == ("gate", "claude-code") else "deadline_s"
        assert found.purpose.deadline == f"{group}.{own}"
    assert chat_provider_for(ChatSettings()).purpose.deadline == "chat.deadline_s"


def test_claude_code_errors_name_the_settings_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = completer_for(HarvestSettings(provider="claude-code"))
    assert found is not None
    with pytest.raises(AutopoiesisError) as caught:
        asyncio.run(complete(found, "s", "p", max_tokens=1, timeout=30))
    assert caught.value.where == "harvest.provider: claude-code"
    assert "harvest.provider: markers" in caught.value.hint
