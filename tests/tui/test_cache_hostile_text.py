"""Hostile text in titles, models, reasons, files and errors: the cache screen shows it as text only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.costs.model import CostRecord
from engine.errors import AutopoiesisError
from engine.providers.chat import Usage
from engine.stability.misses import Culprit
from tests.tui.cache_driven import caching
from tests.tui.conftest import Run
from tests.tui.discussion_data import NOW, FakeCaches, cache_misses, given_up, state
from tests.tui.test_hostile_text import HOSTILE, TOGETHER, assert_harmless, each_alone


def poisoned(text: str) -> FakeCaches:
    """Caches that hold a text wherever they can."""
    kept: dict[str, Any] = {"provider": text, "model": text, "cached_content": text, "sources": (text,)}
    return FakeCaches(
        states=[state("ses_a", why=text, **kept), given_up("ses_b", f"{text} changed", 3, **kept)],
        titles={"ses_a": text, "ses_b": f"before {text} behind"},
        records=[CostRecord("2026-06-12T10:00:00+00:00", text, text, "chat", usage=Usage(9, 5))],
        misses=replace(cache_misses(), culprits=(Culprit(6, text, text, 2, 10, 0.1, NOW),)),
        provider=text,
        model=text,
    )


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_each_is_shown_as_text(run: Run, size: tuple[int, int]) -> None:
    async with caching(run, size) as driven:
        await each_alone(driven, lambda text: setattr(driven.engine, "caches", poisoned(text)))


@pytest.mark.parametrize("text", TOGETHER)
async def test_nothing_of_it_acts(run: Run, text: str) -> None:
    async with caching(run, (80, 24), caches=poisoned(text)) as driven:
        assert driven.screen.discussions.row_count == 2
        assert_harmless(driven)
        for keys in (["enter"], ["escape", "i"], ["escape", "j", "4", "j", "enter"], ["escape", "plus", "Y"]):
            await driven.press(*keys)
            assert_harmless(driven)
        await driven.press("underscore", "2", "g", "i", "right", "enter")
        assert_harmless(driven)
        assert driven.engine.asked("invalidate") and driven.is_open()


async def test_as_an_error(run: Run) -> None:
    errors = {text: AutopoiesisError(text, where=text, cure=text) for text in HOSTILE}
    async with caching(run, failing={"overview": errors[HOSTILE[0]]}) as driven:
        for text, broken in errors.items():
            driven.engine.failing = {"overview": broken}
            await driven.press("ctrl+r")
            assert "The caches cannot be looked at." in driven.text, repr(text)
            assert_harmless(driven)
        for broken in errors.values():
            driven.engine.failing = {"change": broken, "disable": broken}
            await driven.press("ctrl+r", "1", "d", "3", "enter")
            assert_harmless(driven)
            driven.app.clear_notifications()


async def test_markup_keeps_all_its_words(run: Run) -> None:
    async with caching(run, (200, 60)) as driven:
        for text in ("[todo] buy", "[/]", "[red]no[/red]", "[@click=app.quit]x[/]"):
            driven.app.clear_notifications()
            driven.engine.caches = poisoned(text)
            await driven.press("ctrl+r")
            assert driven.text.count(text) >= 6, text
            await driven.press("d")
            assert text in driven.said
