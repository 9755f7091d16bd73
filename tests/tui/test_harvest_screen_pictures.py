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
        await driven.press("enter", "space")
        picture(driven, f"harvest/2-pick-{size}")
        await driven.press("enter")
        picture(driven, f"harvest/3-confirm-{size}")
        await driven.press("enter")
        picture(driven, f"harvest/4-result-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_under_way(run: Run, picture: Picture, size: str) -> None:
    still = threading.Event()
    async with harvesting(run, SIZES[size], gates={f"harvest {DEPLOY}": still}) as driven:
        await driven.press("enter", "enter")
        await driven.send("enter")
        await driven.until(lambda: "under way …" in driven.text)
        await driven.until(lambda: "1 of 4" in driven.text)
        await driven.pilot.pause()
        picture(driven, f"harvest/under-way-{size}")
        still.set()
        await driven.settle()


@pytest.mark.parametrize("size", SIZES)
async def test_the_brake(run: Run, picture: Picture, size: str) -> None:
    async with harvesting(run, SIZES[size], prepare=braked) as driven:
        await driven.press("enter", "enter", "enter")
        await driven.type("2")
        picture(driven, f"harvest/brake-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_options(run: Run, picture: Picture, size: str) -> None:
    async with harvesting(run, SIZES[size]) as driven:
        await driven.press("enter", "2", "space", "G", "space")
        picture(driven, f"harvest/options-{size}")


@pytest.mark.parametrize("size", SIZES)
async def test_loading_empty_and_error(run: Run, picture: Picture, size: str) -> None:
    still = threading.Event()
    async with harvesting(run, SIZES[size], gates={"survey": still}, settle=False) as driven:
        await driven.until(lambda: bool(driven.engine.asked("survey")))
        await driven.until(lambda: "looking at the conversations" in driven.text)
        picture(driven, f"harvest/loading-{size}")
        driven.engine.failing["survey"] = AutopoiesisError(
            "cannot be read (Input/output error)", where="conversations", cure="check the disk"
        )
        still.set()
        await driven.settle()
        picture(driven, f"harvest/error-{size}")
        driven.engine.failing.clear()
        nothing(driven.engine)
        await driven.press("ctrl+r")
        picture(driven, f"harvest/empty-{size}")


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with harvesting(run, theme=theme) as driven:
        await driven.press("enter")
        picture(driven, f"harvest/2-pick-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with harvesting(run) as driven:
        await driven.press("enter")
        picture(driven, "harvest/no-colour-120x40")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with harvesting(run, (60, 16)) as driven:
        picture(driven, "harvest/1-survey-60x16")
        await driven.press("enter")
        picture(driven, "harvest/2-pick-60x16")
        await driven.press("tab")
        picture(driven, "harvest/2-options-60x16")
        await driven.press("enter")
        picture(driven, "harvest/3-confirm-60x16")


@pytest.mark.parametrize("size", SMALL)
async def test_help(run: Run, picture: Picture, size: str) -> None:
    async with harvesting(run, SIZES[size]) as driven:
        await driven.press("enter", "question_mark")
        picture(driven, f"harvest/help-{size}")
