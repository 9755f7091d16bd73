"""Every state of the cache screen as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from tests.tui.cache_driven import caching
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.discussion_data import FakeCaches
from tests.tui.fake_engine import FakeEngine, status_view

Picture = Callable[[Driven, str], None]
SMALL = ["80x24", "120x40"]


@pytest.mark.parametrize("size", SIZES)
async def test_full(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        picture(driven, f"cache/full-{size}-dark")


@pytest.mark.parametrize("provider", ["local", "anthropic"])
async def test_nothing_was_ever_sent(run: Run, picture: Picture, provider: str) -> None:
    async with caching(run, SIZES["80x24"], caches=FakeCaches.none(provider)) as driven:
        picture(driven, f"cache/empty-{provider}-80x24")


async def test_loading(run: Run) -> None:
    still = threading.Event()
    async with caching(run, SIZES["80x24"], settle=False, gates={"overview": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("overview")))
        assert "looking" in driven.text
        still.set()


async def test_error(run: Run, picture: Picture) -> None:
    broken = AutopoiesisError(
        "cannot be read (Input/output error)", where="logs/costs-2026-06.jsonl", cure="check the disk"
    )
    async with caching(run, SIZES["80x24"], failing={"overview": broken}) as driven:
        picture(driven, "cache/error-80x24")


async def test_read_only(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with caching(run, SIZES["80x24"]) as driven:
        await driven.press("i")
        assert "read-only" in driven.text


async def test_smallest(run: Run, picture: Picture) -> None:
    async with caching(run, (60, 16)) as driven:
        picture(driven, "cache/discussions-60x16")
        for name in ("settings", "misses", "providers"):
            await driven.press("tab")
            assert driven.in_use() == name and driven.shows(name)


async def test_it_asks_before_a_cache_is_given_up(run: Run, picture: Picture) -> None:
    async with caching(run, SIZES["80x24"]) as driven:
        await driven.press("i")
        picture(driven, "cache/invalidate-80x24")


async def test_while_a_cache_is_given_up(run: Run) -> None:
    still = threading.Event()
    async with caching(run, gates={"invalidate": still}) as driven:
        await driven.press("i", "right")
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked("invalidate")))
        await driven.pilot.pause()
        assert "…" in driven.line("Refactor")
        still.set()
        await driven.settle()


async def test_everything_known_of_a_discussion(run: Run, picture: Picture) -> None:
    async with caching(run, SIZES["80x24"]) as driven:
        await driven.press("j", "j", "j", "enter")
        picture(driven, "cache/details-80x24")


async def test_what_broke_prefixes(run: Run, picture: Picture) -> None:
    async with caching(run, SIZES["120x40"]) as driven:
        await driven.press("4", "j", "plus")
        picture(driven, "cache/misses-enlarged-120x40")
        await driven.press("enter")
        picture(driven, "cache/culprit-120x40")


async def test_settings(run: Run, picture: Picture) -> None:
    async with caching(run, SIZES["80x24"]) as driven:
        await driven.press("3", "j", "enter")
        picture(driven, "cache/settings-80x24")


async def test_providers_over_the_whole_area(run: Run, picture: Picture) -> None:
    async with caching(run, SIZES["80x24"]) as driven:
        await driven.press("1", "p", "plus")
        picture(driven, "cache/providers-today-80x24")


async def test_help(run: Run) -> None:
    async with caching(run, SIZES["80x24"]) as driven:
        await driven.press("question_mark")
        assert "in discussions" in driven.text
