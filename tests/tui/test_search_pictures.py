"""Snapshots of the search screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.screen_driven import open_search
from tests.tui.search_data import BUILDING, many_results

Picture = Callable[[Driven, str], None]
QUERY = "connection pool timeout"


async def test_before_typing(run: Run, picture: Picture) -> None:
    async with open_search(run, SIZES["80x24"]) as driven:
        picture(driven, "search/empty-80x24")


async def test_nothing_to_search(run: Run, picture: Picture) -> None:
    async with open_search(run) as driven:
        for path in driven.engine.root.rglob("*.md"):
            path.unlink()
        await driven.press("tab", "ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "search/empty-workspace-120x40")


@pytest.mark.parametrize("size", SIZES)
async def test_results(run: Run, picture: Picture, size: str) -> None:
    async with open_search(run, SIZES[size], query=QUERY) as driven:
        picture(driven, f"search/results-{size}-dark")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with open_search(run, (60, 16), query=QUERY) as driven:
        picture(driven, "search/results-60x16")
        await driven.press("enter")
        assert driven.shows("preview") and not driven.shows("results")
        await driven.press("w")
        assert driven.shows("why")


async def test_the_preview(run: Run, picture: Picture) -> None:
    async with open_search(run, SIZES["80x24"], query=QUERY) as driven:
        await driven.press("j", "j", "enter")
        picture(driven, "search/preview-80x24")
        await driven.press("plus")
        assert driven.zoomed() == "preview" and not driven.shows("results")


async def test_why(run: Run, picture: Picture) -> None:
    async with open_search(run, SIZES["120x40"], query=QUERY) as driven:
        await driven.press("j", "3")
        picture(driven, "search/why-120x40")


async def test_no_results(run: Run, picture: Picture) -> None:
    async with open_search(run, SIZES["80x24"]) as driven:
        await driven.type("zeppelin moorings")
        picture(driven, "search/nothing-80x24")


async def test_the_index_is_being_built(run: Run, picture: Picture) -> None:
    async with open_search(run, SIZES["80x24"], query=QUERY, state=BUILDING) as driven:
        picture(driven, "search/index-building-80x24")


async def test_error(run: Run) -> None:
    broken = AutopoiesisError(
        "the disk cannot be read (Input/output error)", where="memory.db", hint="check the disk"
    )
    async with open_search(run, SIZES["120x40"], query="pool", failing={"search": broken}) as driven:
        assert "The search failed." in driven.text and "ctrl+r tries again" in driven.text
        assert "memory.db: the disk cannot be read" in driven.text


async def test_one_kind_only(run: Run) -> None:
    async with open_search(run, SIZES["120x40"], query="pool") as driven:
        await driven.press("c", "c", "c")
        assert "results  2 found · only journal" in driven.text
        assert "knowledge/journal/2026-06-10.md:8        journal" in driven.text


async def test_the_preset_line(run: Run, picture: Picture) -> None:
    async with open_search(run, SIZES["80x24"], query=QUERY) as driven:
        await driven.press("a")
        await driven.type("pools")
        picture(driven, "search/preset-80x24")


async def test_more_results_than_shown(run: Run, picture: Picture) -> None:
    async with open_search(run, query="pool", results=many_results(120)) as driven:
        await driven.press("G")
        picture(driven, "search/more-120x40")
