"""The question of whether to trust a workspace's settings."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ChangeRefused
from engine.settings.model import Config
from engine.settings.trust import Act, EffectiveSettings, State, TrustStatus
from tests.tui.conftest import Run


def settings(state: State, provider: str = "openai") -> EffectiveSettings:
    acts = (Act("gate.provider", provider, "sends messages to a model for the gate"),)
    return EffectiveSettings(Config(), (), (), TrustStatus(Path("x"), state, acts))


async def test_trust_is_asked_once_with_the_focus_on_no(run: Run) -> None:
    async with run((80, 24), settings=settings("new")) as driven:
        assert "trust this workspace?" in driven.text and "gate.provider: openai" in driven.text
        await driven.press("enter")
        assert driven.engine.calls[-1] == ("decide_trust", False)
        assert "trust this workspace?" not in driven.text and "autopoiesis trust" in driven.text


async def test_a_workspace_can_be_trusted(run: Run) -> None:
    async with run((80, 24), settings=settings("changed")) as driven:
        assert "This workspace's settings have changed since" in driven.text
        await driven.press("right", "enter")
        assert ("decide_trust", True) in driven.engine.calls


async def test_settings_that_change_meanwhile_are_shown_before_they_are_trusted(run: Run) -> None:
    async with run((80, 24), settings=settings("new")) as driven:
        driven.engine.settings = settings("new", "anthropic")
        driven.engine.failing["decide_trust"] = ChangeRefused("the settings have changed")
        await driven.press("right", "enter")
        assert "gate.provider: anthropic" in driven.text
        driven.engine.failing.clear()
        await driven.press("right", "enter")
        assert "trust this workspace?" not in driven.text


async def test_an_answered_question_is_not_asked_again(run: Run) -> None:
    for state in ("nothing", "trusted", "declined"):
        async with run((80, 24), settings=settings(state)) as driven:
            assert "trust this workspace?" not in driven.text
