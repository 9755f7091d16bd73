"""Snapshots of every step of the guided harvest; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.report import Report, Survey
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.ledger_data import BRAKE, DEPLOY, results
from tests.tui.screen_driven import open_harvest

Picture = Callable[[Driven, str], None]


async def test_the_steps_from_loading_to_the_result(run: Run, picture: Picture) -> None:
    release_survey, release = threading.Event(), threading.Event()
    blocked = {"survey": release_survey, f"harvest {DEPLOY}": release}
    async with open_harvest(run, SIZES["80x24"], blocked=blocked, settle=False) as driven:
        await driven.until(lambda: bool(driven.engine.calls_of("survey")))
        await driven.until(lambda: "scanning conversations" in driven.text)
        driven.engine.failing["survey"] = AutopoiesisError(
            "cannot be read (Input/output error)", where="conversations", hint="check the disk"
        )
        release_survey.set()
        await driven.settle()
        assert "! conversations: cannot be read (Input/output error); check the disk" in driven.text
        assert "ctrl+r tries again" in driven.text
        driven.engine.failing.clear()
        survey, driven.ledger.surveyed = driven.ledger.surveyed, Survey((), "markers", "")
        await driven.press("ctrl+r")
        picture(driven, "harvest/empty-80x24")
        driven.ledger.surveyed = survey
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "harvest/1-survey-80x24")

        await driven.press("enter", "question_mark")
        assert "in pick" in driven.text
        await driven.press("escape", "enter")
        await driven.send("enter")
        await driven.until(lambda: "in progress …" in driven.text)
        await driven.until(lambda: "1 of 4" in driven.text)
        await driven.pilot.pause()
        picture(driven, "harvest/under-way-80x24")
        release.set()
        await driven.settle()

        await driven.press("H", "enter", "space")
        picture(driven, "harvest/2-pick-80x24")
        await driven.press("enter")
        picture(driven, "harvest/3-confirm-80x24")
        await driven.press("enter")
        picture(driven, "harvest/4-result-80x24")


async def test_options_and_the_brake(run: Run, picture: Picture) -> None:
    async with open_harvest(run, SIZES["120x40"]) as driven:
        picture(driven, "harvest/1-survey-120x40")
        await driven.press("enter", "2", "space", "G", "space")
        picture(driven, "harvest/options-120x40")
        driven.ledger.reported.append(Report(results(BRAKE, 2)))
        await driven.press("space", "g", "space", "enter", "enter")
        await driven.type("2")
        picture(driven, "harvest/brake-120x40")


async def test_largest_size(run: Run, picture: Picture) -> None:
    async with open_harvest(run, SIZES["200x60"]) as driven:
        picture(driven, "harvest/1-survey-200x60")


async def test_smallest_size(run: Run, picture: Picture) -> None:
    async with open_harvest(run, (60, 16)) as driven:
        picture(driven, "harvest/1-survey-60x16")
        await driven.press("enter")
        assert driven.step == "pick" and driven.shows("pick")
        await driven.press("tab")
        assert not driven.shows("pick")
        await driven.press("enter")
        assert driven.step == "confirm"
