"""Snapshots of the tune screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.screen_driven import open_tune
from tests.tui.tune_data import SMALLTALK, TOPICS, Kind, decisions, topic

Picture = Callable[[Driven, str], None]


@pytest.fixture(autouse=True)
def topic_files(engine: FakeEngine) -> None:
    """The topics' files, so that their thresholds can be applied."""
    for name in (*TOPICS, "smalltalk"):
        (engine.root / "topics" / f"{name}.md").write_text(f"{name}\n", encoding="utf-8")


@pytest.mark.parametrize("size", SIZES)
async def test_full(run: Run, picture: Picture, size: str) -> None:
    async with open_tune(run, SIZES[size], provider="agent") as driven:
        picture(driven, f"tune/full-{size}-dark")


async def test_mid_drag(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["120x40"], provider="agent") as driven:
        await driven.press("L", "right", "right", "c", "H", "3", "j")
        picture(driven, "tune/mid-drag-120x40-dark")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with open_tune(run, (60, 16)) as driven:
        await driven.press("L")
        picture(driven, "tune/mid-drag-60x16")


async def test_empty(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["120x40"], log=[]) as driven:
        picture(driven, "tune/empty-120x40")


async def test_no_topics(run: Run) -> None:
    async with open_tune(run, log=[], topics=[]) as driven:
        assert "topic" in driven.text


async def test_few_decisions(run: Run, picture: Picture) -> None:
    kinds = {"code-style": Kind(6, 5, 14), "deploy": Kind(0, 0, 9), "incident": Kind(2, 0, 3)}
    async with open_tune(
        run, SIZES["80x24"], log=decisions(kinds), topics=[topic(name) for name in kinds]
    ) as driven:
        picture(driven, "tune/thin-80x24")


async def test_after_apply(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["80x24"]) as driven:
        await driven.press("L", "right", "right", "enter")
        picture(driven, "tune/after-apply-80x24")


async def test_fit_shown(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["80x24"]) as driven:
        await driven.press("f")
        picture(driven, "tune/fit-shown-80x24")


async def test_fit_refused(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["120x40"], topic="journal-daily") as driven:
        await driven.press("f")
        picture(driven, "tune/fit-refused-120x40")


async def test_fit_with_a_caution(run: Run, picture: Picture) -> None:
    kinds = {**TOPICS, "smalltalk": SMALLTALK}
    async with open_tune(
        run, SIZES["80x24"], topic="smalltalk", log=decisions(kinds), topics=[topic(name) for name in kinds]
    ) as driven:
        await driven.press("f")
        picture(driven, "tune/fit-caution-80x24")
        await driven.press("enter")
        assert "Hardly any message would reach the topic" in driven.text


async def test_undo_question(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["120x40"]) as driven:
        await driven.press("L", "enter")
        driven.app.clear_notifications()
        await driven.press("z")
        picture(driven, "tune/undo-question-120x40")


async def test_error(run: Run, picture: Picture) -> None:
    broken = AutopoiesisError(
        "cannot be read (Permission denied)",
        where="logs/decisions/2026-06.jsonl",
        hint="check its permissions",
    )
    async with open_tune(run, SIZES["80x24"], failing={"table": broken}) as driven:
        picture(driven, "tune/error-80x24")


async def test_enlarged(run: Run) -> None:
    async with open_tune(run, SIZES["80x24"]) as driven:
        for panel in ("1", "2", "3"):
            await driven.press(panel, "plus")
            assert driven.zoomed() == driven.focused_panel()
            await driven.press("underscore")


async def test_a_decision_in_full(run: Run, picture: Picture) -> None:
    async with open_tune(run) as driven:
        await driven.press("L", "3", "o")
        picture(driven, "tune/decision-120x40")
