"""Snapshots of the context screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import BudgetError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.context_data import prompt, prompt_before, with_many_results
from tests.tui.screen_driven import open_context

Picture = Callable[[Driven, str], None]

TOO_MUCH = BudgetError(
    "system prompt and identity take 9,120 tokens (knowledge/identity/SOUL.md 6,400, "
    "knowledge/identity/AGENTS.md 2,100, knowledge/prompts/system.md 620), and 7,936 of 8,192 are free "
    "after the reply reserve",
    where="context_compiler.token_budget",
    hint="raise the budget or shorten these files",
)


@pytest.mark.parametrize("size", [*SIZES, "60x16"])
async def test_full(run: Run, picture: Picture, size: str) -> None:
    width, height = map(int, size.split("x"))
    async with open_context(run, (width, height)) as driven:
        picture(driven, f"context/full-{size}-dark")


async def test_section(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["80x24"]) as driven:
        await driven.press(*["j"] * 9)
        picture(driven, "context/section-80x24")


async def test_whole_prompt(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["80x24"]) as driven:
        await driven.press(*["j"] * 5, "t", "2")
        picture(driven, "context/whole-80x24")


async def test_left_out(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["200x60"]) as driven:
        await driven.press("o", "j")
        picture(driven, "context/left-out-200x60")


async def test_many_search_results_left_out(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["80x24"], compiled=with_many_results()) as driven:
        await driven.press("o", "G")
        picture(driven, "context/left-out-many-80x24")
        await driven.press("enter")
        assert "▾" in driven.text


async def test_difference(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["80x24"]) as driven:
        await driven.press("d")
        picture(driven, "context/difference-80x24")


async def test_broken_prefix(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["120x40"], compiled_before=prompt_before(broken=True)) as driven:
        await driven.press("d")
        picture(driven, "context/prefix-broken-120x40")


async def test_error(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["80x24"], failing={"compile_of": TOO_MUCH}) as driven:
        picture(driven, "context/error-80x24")


async def test_empty(run: Run, picture: Picture) -> None:
    async with open_context(run, SIZES["80x24"], entries=[], compiled=prompt(budget=8192)) as driven:
        picture(driven, "context/empty-80x24")


async def test_write(run: Run, picture: Picture) -> None:
    async with open_context(run, existing=frozenset({"scratch/prompt.md"})) as driven:
        await driven.press("w")
        await driven.press("enter")
        picture(driven, "context/write-question-120x40")


async def test_enlarged(run: Run) -> None:
    async with open_context(run, SIZES["80x24"]) as driven:
        for panel in ("1", "2", "3", "4"):
            await driven.press(panel)
            if driven.screen.zoomed is None:
                await driven.press("plus")
            assert driven.zoomed() == driven.focused_panel() and len(driven.screen.in_view()) == 1
