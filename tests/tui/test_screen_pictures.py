"""Snapshots of the screens over the workbench; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import AutopoiesisError, LedgerBroken
from engine.knowledge.harvest.report import Report, Survey
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.ledger_data import BRAKE, DEPLOY, results
from tests.tui.screen_driven import (
    open_harvest,
    open_ledger,
    open_tune,
)
from tests.tui.tune_data import SMALLTALK, TOPICS, Kind, decisions, topic

Picture = Callable[[Driven, str], None]
UNREADABLE = AutopoiesisError(
    "cannot be read (Permission denied)", where="logs/decisions/2026-06.jsonl", hint="check its permissions"
)
FEW = {"code-style": Kind(6, 5, 14), "deploy": Kind(0, 0, 9), "incident": Kind(2, 0, 3)}
CAUTIOUS = {**TOPICS, "smalltalk": SMALLTALK}

# The name of a picture, which contains its size; the screen; keys; and what the screen is given.
PICTURES: dict[str, tuple[Callable[..., Any], str, dict[str, Any]]] = {
    "ledger/full-200x60-dark": (open_ledger, "", {}),
    "ledger/entries-60x16": (open_ledger, "", {}),
    "harvest/1-choose-200x60": (open_harvest, "", {}),
    "harvest/1-choose-60x16": (open_harvest, "", {}),
    "tune/full-80x24-dark": (open_tune, "", {"provider": "agent"}),
    "tune/full-120x40-dark": (open_tune, "", {"provider": "agent"}),
    "tune/full-200x60-dark": (open_tune, "", {"provider": "agent"}),
    "tune/mid-drag-120x40-dark": (open_tune, "L right right c H 3 j", {"provider": "agent"}),
    "tune/mid-drag-60x16": (open_tune, "L", {}),
    "tune/empty-120x40": (open_tune, "", {"log": []}),
    "tune/thin-80x24": (open_tune, "", {"log": decisions(FEW), "topics": [topic(name) for name in FEW]}),
    "tune/after-apply-80x24": (open_tune, "L right right enter", {}),
    "tune/fit-shown-80x24": (open_tune, "f", {}),
    "tune/fit-refused-120x40": (open_tune, "f", {"topic": "journal-daily"}),
    "tune/fit-caution-80x24": (
        open_tune, "f",
        {"topic": "smalltalk", "log": decisions(CAUTIOUS), "topics": [topic(name) for name in CAUTIOUS]},
    ),
    "tune/error-80x24": (open_tune, "", {"failing": {"table": UNREADABLE}}),
    "tune/decision-120x40": (open_tune, "L 3 o", {}),
}  # fmt: skip


@pytest.fixture
def topic_files(engine: FakeEngine) -> None:
    """The topics' files, so that their thresholds can be applied."""
    for name in (*TOPICS, "smalltalk"):
        (engine.root / "topics" / f"{name}.md").write_text(f"{name}\n", encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
async def test_picture(run: Run, picture: Picture, name: str, request: pytest.FixtureRequest) -> None:
    opened, keys, given = PICTURES[name]
    if opened is open_tune:
        request.getfixturevalue("topic_files")
    width, height = map(int, re.findall(r"(\d+)x(\d+)", name)[0])
    async with opened(run, (width, height), **given) as driven:
        await driven.press(*keys.split())
        picture(driven, name)


async def test_ledger_full_with_a_question_and_filtered(run: Run, picture: Picture) -> None:
    async with open_ledger(run, SIZES["80x24"]) as driven:
        picture(driven, "ledger/full-80x24-dark")
        await driven.press("j", "r")
        picture(driven, "ledger/restore-80x24")
        await driven.press("escape", "question_mark")
        assert "in entries" in driven.text
        await driven.press("escape", "k", "s", "slash")
        await driven.type("quota")
        picture(driven, "ledger/narrowed-80x24")


async def test_ledger_full_and_verified(run: Run, picture: Picture) -> None:
    async with open_ledger(run, SIZES["120x40"]) as driven:
        picture(driven, "ledger/full-120x40-dark")
        await driven.press("enter", "G", "plus")
        assert driven.zoomed() == driven.focused_panel()
        await driven.press("escape", "1", "v", "G")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/verified-120x40")


async def test_ledger_loading_damaged_and_empty(run: Run, picture: Picture) -> None:
    release = threading.Event()
    async with open_ledger(run, SIZES["80x24"], settle=False, blocked={"entries": release}) as driven:
        await driven.until(lambda: bool(driven.engine.calls_of("entries")))
        assert "…" in driven.text
        driven.engine.failing["entries"] = LedgerBroken(
            "cannot be read as a ledger (JSONDecodeError: Expecting value)",
            where="knowledge/ledger.json",
            hint="run: autopoiesis ledger rebuild",
        )
        release.set()
        await driven.settle()
        picture(driven, "ledger/damaged-80x24")
        driven.engine.failing.clear()
        driven.ledger.known.clear()
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/empty-80x24")


async def test_harvest_the_steps_from_loading_to_the_result(run: Run, picture: Picture) -> None:
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
        picture(driven, "harvest/1-choose-80x24")

        await driven.press("question_mark")
        assert "in pick" in driven.text
        await driven.press("escape", "enter")
        await driven.send("enter")
        await driven.until(lambda: "in progress …" in driven.text)
        await driven.until(lambda: "1 of 4" in driven.text)
        await driven.pilot.pause()
        picture(driven, "harvest/under-way-80x24")
        release.set()
        await driven.settle()

        await driven.press("H", "space", "enter")
        picture(driven, "harvest/2-confirm-80x24")
        await driven.press("enter")
        picture(driven, "harvest/3-result-80x24")


async def test_harvest_options_and_the_brake(run: Run, picture: Picture) -> None:
    async with open_harvest(run, SIZES["120x40"]) as driven:
        picture(driven, "harvest/1-choose-120x40")
        await driven.press("2", "space", "G", "space")
        picture(driven, "harvest/options-120x40")
        driven.ledger.reported.append(Report(results(BRAKE, 2)))
        await driven.press("space", "g", "space", "enter", "enter")
        await driven.type("2")
        picture(driven, "harvest/brake-120x40")


@pytest.mark.usefixtures("topic_files")
async def test_tune_undo_question(run: Run, picture: Picture) -> None:
    async with open_tune(run, SIZES["120x40"]) as driven:
        await driven.press("L", "enter")
        driven.app.clear_notifications()
        await driven.press("z")
        picture(driven, "tune/undo-question-120x40")
