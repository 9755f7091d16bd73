"""Every step of a guided harvest as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.report import Report, Survey
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.ledger_data import BRAKE, DEPLOY, results
from tests.tui.ledger_driven import harvesting

Picture = Callable[[Driven, str], None]
SMALL = ["80x24", "120x40"]


def braked(engine: FakeEngine) -> None:
    """So many would go that their number is asked for."""
    engine.knowledge.ledger.reported.append(Report(results(BRAKE)))


def nothing(engine: FakeEngine) -> None:
    """No conversations."""
    engine.knowledge.ledger.surveyed = Survey((), "markers", "")


@pytest.mark.parametrize("size", SIZES)
async def test_the_steps(run: Run, picture: Picture, size: str) -> None:
    async with harvesting(run, SIZES[size]) as driven:
        picture(driven, f"harvest/1-survey-{size}")
        if size != "80x24":
            return
        await driven.press("enter", "space")
        picture(driven, "harvest/2-pick-80x24")
        await driven.press("enter")
        picture(driven, "harvest/3-confirm-80x24")
        await driven.press("enter")
        picture(driven, "harvest/4-result-80x24")


async def test_under_way(run: Run, picture: Picture) -> None:
    still = threading.Event()
    async with harvesting(run, SIZES["80x24"], gates={f"harvest {DEPLOY}": still}) as driven:
        await driven.press("enter", "enter")
        await driven.send("enter")
        await driven.until(lambda: "under way …" in driven.text)
        await driven.until(lambda: "1 of 4" in driven.text)
        await driven.pilot.pause()
        picture(driven, "harvest/under-way-80x24")
        still.set()
        await driven.settle()


async def test_the_brake(run: Run, picture: Picture) -> None:
    async with harvesting(run, SIZES["120x40"], prepare=braked) as driven:
        await driven.press("enter", "enter", "enter")
        await driven.type("2")
        picture(driven, "harvest/brake-120x40")


async def test_options(run: Run, picture: Picture) -> None:
    async with harvesting(run, SIZES["120x40"]) as driven:
        await driven.press("enter", "2", "space", "G", "space")
        picture(driven, "harvest/options-120x40")


async def test_loading_empty_and_error(run: Run, picture: Picture) -> None:
    still = threading.Event()
    async with harvesting(run, SIZES["80x24"], gates={"survey": still}, settle=False) as driven:
        await driven.until(lambda: bool(driven.engine.asked("survey")))
        await driven.until(lambda: "looking at the conversations" in driven.text)
        driven.engine.failing["survey"] = AutopoiesisError(
            "cannot be read (Input/output error)", where="conversations", cure="check the disk"
        )
        still.set()
        await driven.settle()
        picture(driven, "harvest/error-80x24")
        driven.engine.failing.clear()
        nothing(driven.engine)
        await driven.press("ctrl+r")
        picture(driven, "harvest/empty-80x24")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with harvesting(run, (60, 16)) as driven:
        picture(driven, "harvest/1-survey-60x16")
        await driven.press("enter")
        assert driven.step == "pick" and driven.shows("pick")
        await driven.press("tab")
        assert not driven.shows("pick")
        await driven.press("enter")
        assert driven.step == "confirm"


async def test_help(run: Run) -> None:
    async with harvesting(run, SIZES["80x24"]) as driven:
        await driven.press("enter", "question_mark")
        assert "in pick" in driven.text
