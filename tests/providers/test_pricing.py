"""The dated prices of gate calls."""

from __future__ import annotations

import re

import pytest

from engine.config import GateSettings
from engine.providers import pricing
from engine.providers.anthropic import Anthropic
from engine.providers.claude_code import ClaudeCode
from engine.providers.gemini import Gemini
from engine.providers.openai import OpenAI
from engine.providers.select import completer_for


def test_the_prices_are_dated_and_cover_what_is_asked_by_default() -> None:
    assert re.fullmatch(r"\d{4}-\d{2}", pricing.AS_OF)
    for model in (*pricing.DEFAULT_MODELS.values(), *pricing.ALIASES.values()):
        assert model in pricing.PRICES


def test_a_call_costs_its_tokens() -> None:
    assert pricing.cost_of("claude-haiku-4-5", 1_000_000, 0) == pytest.approx(1.0)
    assert pricing.cost_of("claude-haiku-4-5-20251001", 0, 1_000_000) == pytest.approx(5.0)
    assert pricing.cost_of("gpt-4o-mini-2024-07-18", 1_000_000, 0) == pytest.approx(0.15)
    assert pricing.cost_of("somebody-elses-model", 1, 1) is None


def test_settings_name_the_provider() -> None:
    made = completer_for(GateSettings(provider="anthropic", model="haiku"))
    assert isinstance(made, Anthropic) and made.model == "claude-haiku-5-5"
    made = completer_for(GateSettings(provider="openai", base_url="http://localhost:1/v1"))
    assert isinstance(made, OpenAI) and made.address == "http://localhost:1/v1" and made.model == "gpt-6-luna"
    made = completer_for(GateSettings(provider="gemini", model="flash-lite"))
    assert isinstance(made, Gemini) and made.model == "gemini-3.5-flash-lite"
    made = completer_for(GateSettings(provider="claude-code"))
    assert isinstance(made, ClaudeCode) and made.model == "haiku"
    assert completer_for(GateSettings()) is None
    assert completer_for(GateSettings(provider="ask")) is None
