"""The question of whether to trust a workspace's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        assert driven.engine.calls_of("decide_trust")[-1] == ("decide_trust", False)
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


@pytest.mark.parametrize("size", [(60, 16), (80, 24)])
async def test_every_setting_can_be_read_with_the_answers_in_view(run: Run, size: tuple[int, int]) -> None:
    names = [f"gate.setting{number}" for number in range(12)]
    acts = tuple(Act(name, "http://model.example/v1/" * 3, "sends messages to a model") for name in names)
    unread = set(names)
    asked = EffectiveSettings(Config(), (), (), TrustStatus(Path("x"), "new", acts))
    async with run(size, settings=asked) as driven:
        for _ in range(20):
            assert "▸ Cancel ◂" in driven.text and "pgdn reads on" in driven.text
            unread -= {name for name in unread if f"{name}:" in driven.text}
            await driven.press("pagedown")
        assert not unread and "Everything else works" in driven.text.replace("\n", " ")
        await driven.press("right")
        assert "▸ Trust ◂" in driven.text
        await driven.press("pageup", "enter")
        assert ("decide_trust", True) in driven.engine.calls
