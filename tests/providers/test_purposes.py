"""What a provider's error advises: settings that there are, of the group the provider was asked for."""

from __future__ import annotations

import asyncio
import re
from dataclasses import fields

import pytest

from engine.errors import AutopoiesisError
from engine.providers import keys
from engine.providers.completion import complete
from engine.providers.keys import FLUSH, GATE, HARVEST, Purpose
from engine.providers.select import ServiceSettings, completer_for
from engine.settings.catalog import catalog
from engine.settings.model import FlushSettings, GateSettings, HarvestSettings
from tests.cases import each_case

PURPOSES = [value for value in vars(keys).values() if isinstance(value, Purpose)]


@each_case("purpose", PURPOSES)
def test_every_setting_that_an_error_advises_exists(purpose: Purpose) -> None:
    texts = [value for item in fields(purpose) if isinstance(value := getattr(purpose, item.name), str)]
    named = {name for text in texts for name in re.findall(r"[a-z_]+\.[a-z_]+", text)}
    assert len(named) >= 4
    assert named <= catalog().keys()
    setting, _, value = purpose.without.partition(": ")
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
def test_a_missing_key_is_told_with_the_settings_of_the_one_who_asks(
    provider: str,
    kind: type[GateSettings | FlushSettings | HarvestSettings],
    purpose: Purpose,
    without: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in (*keys.OWN_KEY_VARIABLES, *keys.PURPOSE_KEY_VARIABLES, "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    settings: ServiceSettings = kind(provider=provider)  # type: ignore[arg-type]
    found = completer_for(settings, purpose)
    assert found is not None
    with pytest.raises(AutopoiesisError) as caught:
        asyncio.run(complete(found, "s", "p", max_tokens=1, timeout=30))
    assert without in caught.value.cure


def test_claude_code_names_the_settings_of_the_one_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = completer_for(HarvestSettings(provider="claude-code"), HARVEST)
    assert found is not None
    with pytest.raises(AutopoiesisError) as caught:
        asyncio.run(complete(found, "s", "p", max_tokens=1, timeout=30))
    assert caught.value.where == "harvest.provider: claude-code"
    assert "harvest.provider: markers" in caught.value.cure
