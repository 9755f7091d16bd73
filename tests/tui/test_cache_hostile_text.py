"""Hostile text in titles, models, reasons, files and errors is shown only as text on the cache screen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.costs.model import CostRecord
from engine.errors import AutopoiesisError
from engine.providers.chat import Usage
from engine.stability.record import Culprit
from tests.tui.conftest import Run
from tests.tui.discussion_data import NOW, FakeCaches, cache_misses, invalidated, state
from tests.tui.screen_driven import open_cache
from tests.tui.test_hostile_text import COMBINED, assert_each_harmless, assert_harmless


def poisoned(text: str) -> FakeCaches:
    """Caches with a text in every field."""
    fields: dict[str, Any] = {"provider": text, "model": text, "cached_content": text, "sources": (text,)}
    return FakeCaches(
        states=[state("ses_a", why=text, **fields), invalidated("ses_b", f"{text} changed", 3, **fields)],
        titles={"ses_a": text, "ses_b": f"before {text} behind"},
        records=[CostRecord("2026-06-12T10:00:00+00:00", text, text, "chat", usage=Usage(9, 5))],
        misses=replace(cache_misses(), culprits=(Culprit(6, text, text, 2, 10, 0.1, NOW),)),
        provider=text,
        model=text,
    )


async def test_hostile_text_is_shown_and_has_no_effect(run: Run) -> None:
    async with open_cache(run, (80, 24)) as driven:
        engine = driven.engine
        await assert_each_harmless(driven, lambda text: setattr(engine, "caches", poisoned(text)))
        engine.caches = poisoned(COMBINED)
        await driven.press("2", "ctrl+r", "g")
        assert driven.screen.discussions.row_count == 2
        assert_harmless(driven)
        for keys in (
            ["enter"],
            ["escape", "i"],
            ["escape", "j", "4", "j", "enter"],
            ["escape", "plus", "Y"],
        ):
            await driven.press(*keys)
            assert_harmless(driven)
        before = len(engine.calls_of("invalidate"))
        await driven.press("underscore", "2", "g", "i", "right", "enter")
        assert_harmless(driven)
        assert len(engine.calls_of("invalidate")) > before and driven.is_open()
        await driven.resize(200, 60)
        for text in (
            "[todo] buy",
            "[/]",
            "[red]no[/red]",
            "[@click=app.quit]x[/]",
        ):  # every character is shown
            driven.app.clear_notifications()
            engine.caches = poisoned(text)
            await driven.press("ctrl+r")
            assert_harmless(driven)
            assert driven.text.count(text) >= 6, text
            await driven.press("d")
            assert text in driven.toasts
        broken = AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED)
        engine.failing = {"overview": broken, "change": broken, "disable": broken}
        await driven.press("ctrl+r", "2", "d", "3", "enter")
        assert_harmless(driven)
        driven.app.clear_notifications()
        await driven.press("escape", "C")
        engine.failing = {"overview": AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED)}
        await driven.press("ctrl+r")
        assert "Cannot read the caches." in driven.text
        assert_harmless(driven)
