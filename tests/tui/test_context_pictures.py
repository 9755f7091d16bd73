"""Every state of the context screen as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import BudgetError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.context_data import prompt, prompt_before, with_many_results
from tests.tui.context_driven import looking
from tests.tui.fake_engine import FakeEngine, status_view

Picture = Callable[[Driven, str], None]

TOO_MUCH = BudgetError(
    "system prompt and identity take 9,120 tokens (knowledge/identity/SOUL.md 6,400, "
    "knowledge/identity/AGENTS.md 2,100, knowledge/prompts/system.md 620), and 7,936 of 8,192 are free "
    "beside the reply reserve",
    where="context_compiler.token_budget",
    cure="raise the budget or shorten these files",
)


@pytest.mark.parametrize("size", [*SIZES, "60x16"])
async def test_full(run: Run, picture: Picture, size: str) -> None:
    width, height = map(int, size.split("x"))
    async with looking(run, (width, height)) as driven:
        picture(driven, f"context/full-{size}-dark")


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with looking(run, theme=theme) as driven:
        await driven.press("o", "1", *["j"] * 3)
        picture(driven, f"context/section-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with looking(run) as driven:
        await driven.press("d")
        picture(driven, "context/no-colour-120x40")


@pytest.mark.parametrize("size", SIZES)
async def test_section(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press(*["j"] * 9)
        picture(driven, f"context/section-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_whole_prompt(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press(*["j"] * 5, "t", "2")
        picture(driven, f"context/whole-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_left_out(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press("o", "j")
        picture(driven, f"context/left-out-{size}")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_many_search_results_left_out(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size], compiled=with_many_results()) as driven:
        await driven.press("o", "G")
        picture(driven, f"context/left-out-many-{size}")
        await driven.press("enter")
        picture(driven, f"context/left-out-opened-{size}")


async def test_left_out_detail(run: Run, picture: Picture) -> None:
    async with looking(run) as driven:
        await driven.press("o", "enter")
        picture(driven, "context/left-out-detail-120x40")


@pytest.mark.parametrize("size", SIZES)
async def test_difference(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press("d")
        picture(driven, f"context/difference-{size}")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_broken_prefix(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size], compiled_before=prompt_before(broken=True)) as driven:
        await driven.press("d")
        picture(driven, f"context/prefix-broken-{size}")


async def test_nothing_to_compare_with(run: Run, picture: Picture) -> None:
    async with looking(run, compiled_before=None) as driven:
        await driven.press("d")
        picture(driven, "context/first-message-120x40")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_error(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size], failing={"compile_of": TOO_MUCH}) as driven:
        picture(driven, f"context/error-{size}")


async def test_loading(run: Run, picture: Picture) -> None:
    still = threading.Event()
    async with looking(run, settle=False, gates={"compile_of": still}) as driven:
        await driven.until(lambda: driven.engine.asked("compile_of"))
        picture(driven, "context/loading-120x40")
        still.set()


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_empty(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size], entries=[], compiled=prompt(budget=8192)) as driven:
        picture(driven, f"context/empty-{size}")


async def test_read_only(run: Run, picture: Picture, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with looking(run) as driven:
        await driven.press("w")
        picture(driven, "context/read-only-120x40")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_filter(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press("slash")
        await driven.type("review")
        picture(driven, f"context/filter-{size}")


async def test_write(run: Run, picture: Picture) -> None:
    async with looking(run, taken=frozenset({"scratch/prompt.md"})) as driven:
        await driven.press("w")
        picture(driven, "context/write-120x40")
        await driven.press("enter")
        picture(driven, "context/write-question-120x40")


@pytest.mark.parametrize("size", ["80x24", "120x40"])
async def test_help(run: Run, picture: Picture, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press("question_mark")
        picture(driven, f"context/help-{size}")


@pytest.mark.parametrize(
    ("panel", "size"), [("1", "80x24"), ("2", "80x24"), ("3", "80x24"), ("4", "80x24"), ("1", "120x40")]
)
async def test_enlarged(run: Run, picture: Picture, panel: str, size: str) -> None:
    async with looking(run, SIZES[size]) as driven:
        await driven.press(panel)
        if driven.screen.zoomed is None:
            await driven.press("plus")
        picture(driven, f"context/enlarged-{panel}-{size}")
