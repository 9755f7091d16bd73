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


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with caching(run, theme=theme) as driven:
        picture(driven, f"cache/full-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with caching(run) as driven:
        picture(driven, "cache/no-colour-120x40")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("provider", ["local", "anthropic"])
async def test_nothing_was_ever_sent(run: Run, picture: Picture, size: str, provider: str) -> None:
    async with caching(run, SIZES[size], caches=FakeCaches.none(provider)) as driven:
        picture(driven, f"cache/empty-{provider}-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_loading(run: Run, picture: Picture, size: str) -> None:
    still = threading.Event()
    async with caching(run, SIZES[size], settle=False, gates={"overview": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("overview")))
        picture(driven, f"cache/loading-{size}")
        still.set()


@pytest.mark.parametrize("size", SIZES)
async def test_error(run: Run, picture: Picture, size: str) -> None:
    broken = AutopoiesisError(
        "cannot be read (Input/output error)", where="logs/costs-2026-06.jsonl", cure="check the disk"
    )
    async with caching(run, SIZES[size], failing={"overview": broken}) as driven:
        picture(driven, f"cache/error-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_read_only(run: Run, picture: Picture, engine: FakeEngine, size: str) -> None:
    engine.status_value = status_view(read_only=True)
    async with caching(run, SIZES[size]) as driven:
        await driven.press("i")
        picture(driven, f"cache/read-only-{size}")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with caching(run, (60, 16)) as driven:
        picture(driven, "cache/discussions-60x16")
        for name in ("settings", "misses", "providers"):
            await driven.press("tab")
            picture(driven, f"cache/{name}-60x16")


async def test_too_small(run: Run, picture: Picture) -> None:
    async with caching(run, (58, 14)) as driven:
        picture(driven, "cache/too-small-58x14")


@pytest.mark.parametrize("size", SMALL)
async def test_it_asks_before_a_cache_is_given_up(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        await driven.press("i")
        picture(driven, f"cache/invalidate-{size}")


async def test_while_a_cache_is_given_up(run: Run, picture: Picture) -> None:
    still = threading.Event()
    async with caching(run, gates={"invalidate": still}) as driven:
        await driven.press("i", "right")
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked("invalidate")))
        await driven.pilot.pause()
        picture(driven, "cache/giving-up-120x40")
        still.set()
        await driven.settle()


@pytest.mark.parametrize("size", SMALL)
async def test_everything_known_of_a_discussion(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        await driven.press("j", "j", "j", "enter")
        picture(driven, f"cache/details-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_what_broke_prefixes(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        await driven.press("4", "j", "plus")
        picture(driven, f"cache/misses-enlarged-{size}")
        await driven.press("enter")
        picture(driven, f"cache/culprit-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_settings(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        await driven.press("3", "j", "enter")
        picture(driven, f"cache/settings-{size}")
        driven.app.clear_notifications()
        await driven.press("plus")
        picture(driven, f"cache/settings-enlarged-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_providers_over_the_whole_area(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        await driven.press("1", "p", "plus")
        picture(driven, f"cache/providers-today-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_help(run: Run, picture: Picture, size: str) -> None:
    async with caching(run, SIZES[size]) as driven:
        await driven.press("question_mark")
        picture(driven, f"cache/help-{size}")
