"""Snapshots of the cache screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import AutopoiesisError
from engine.events import CacheGivenUp
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.discussion_data import NOW, FakeCaches
from tests.tui.screen_driven import open_cache

Picture = Callable[[Driven, str], None]


async def test_full_with_its_pages_and_questions(run: Run, picture: Picture) -> None:
    async with open_cache(run, SIZES["80x24"]) as driven:
        picture(driven, "cache/full-80x24-dark")
        await driven.press("j", "j", "j", "enter")
        picture(driven, "cache/details-80x24")
        await driven.press("escape", "g", "i")
        picture(driven, "cache/invalidate-80x24")
        await driven.press("escape", "1", "p", "plus")
        picture(driven, "cache/providers-today-80x24")
        await driven.press("underscore", "p", "p", "3", "j", "enter")
        picture(driven, "cache/settings-80x24")
        await driven.press("2", "question_mark")
        assert "in discussions" in driven.text


async def test_sizes_and_misses(run: Run, picture: Picture) -> None:
    async with open_cache(run, SIZES["120x40"]) as driven:
        picture(driven, "cache/full-120x40-dark")
        await driven.press("4", "j", "plus")
        picture(driven, "cache/misses-enlarged-120x40")
        await driven.press("enter")
        picture(driven, "cache/culprit-120x40")
        await driven.press("escape", "underscore", "k", "2")
        await driven.resize(*SIZES["200x60"])
        picture(driven, "cache/full-200x60-dark")
        await driven.resize(60, 16)
        picture(driven, "cache/discussions-60x16")


async def test_an_error_and_nothing_sent_yet(run: Run, picture: Picture) -> None:
    broken = AutopoiesisError(
        "cannot be read (Input/output error)", where="logs/costs-2026-06.jsonl", hint="check the disk"
    )
    async with open_cache(run, SIZES["80x24"], failing={"overview": broken}) as driven:
        assert "Cannot read the caches." in driven.text and "check the" in driven.text
        assert driven.text.count("unknown") == 3 and "ctrl+r tries again" in driven.text
        driven.engine.failing.clear()
        for provider in ("local", "anthropic"):
            driven.engine.caches = FakeCaches.none(provider)
            driven.engine.publish(CacheGivenUp(NOW, "ses_other", "x changed"))
            await driven.settle()
            if provider == "local":
                picture(driven, "cache/empty-local-80x24")
        assert "▸ anthropic" in driven.text and "Anthropic then caches the stable prefix" in driven.text
