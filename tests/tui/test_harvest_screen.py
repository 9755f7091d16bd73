"""The guided harvest: selection, confirmation, result."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.report import Consent, HarvestRequest
from engine.knowledge.harvest.run import Harvest
from engine.knowledge.knowledge import Knowledge
from tests.tui import ledger_data
from tests.tui.conftest import SIZES, Driven, Prepare, Watch
from tests.tui.ledger_data import CALL, MODEM, NOW, ROLLUP, ROUND, SVG, HarvestDriven, open_ledger
from tests.tui.test_every_screen import poison
from tests.tui.test_hostile_text import COMBINED, assert_harmless

CHOSEN = [ROLLUP, CALL, MODEM]
BOTH = ("j", "space", "j", "space")
"""The keys for also reclaiming what is empty or was only partly read."""
Picture = Callable[[Driven, str], None]


@pytest.fixture
def root(prepare: Prepare) -> Path:
    root = prepare("ledger", ledger_data.make)
    ledger_data.touch(root)
    return root


@asynccontextmanager
async def open_harvest(
    root: Path, size: tuple[int, int] = (120, 40), **more: Any
) -> AsyncIterator[HarvestDriven]:
    """Opens the guided harvest from the ledger screen."""
    async with open_ledger(root, size, **more) as ledger:
        yield await HarvestDriven.over(ledger)


def with_model(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets a model, which is never asked here."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with (root / "memory-config.yaml").open("a") as settings:
        settings.write("\nharvest:\n  provider: anthropic\n  model: claude-haiku-4-5\n")


def fails(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Lets the harvest of one conversation fail."""
    real = Harvest._harvest_one

    def harvest_one(harvest: Harvest, candidate: Any, *more: Any) -> Any:
        if candidate.path == path:
            raise AutopoiesisError("its third line is not text")
        return real(harvest, candidate, *more)

    monkeypatch.setattr(Harvest, "_harvest_one", harvest_one)


async def test_pictures(root: Path, picture: Picture, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    one = watch(Harvest, "_harvest_one")
    async with open_harvest(root, SIZES["120x40"]) as driven:
        await driven.press("2", "space", "G", "space")
        picture(driven, "harvest/options-120x40")
    with_model(root, monkeypatch)
    async with open_harvest(root, SIZES["80x24"]) as driven:
        for size in SIZES:
            await driven.resize(*SIZES[size])
            picture(driven, f"harvest/1-choose-{size}")
        await driven.resize(60, 16)
        picture(driven, "harvest/1-choose-60x16")
        await driven.resize(80, 24)
        await driven.press("enter")
        picture(driven, "harvest/2-confirm-80x24")
    settings = root / "memory-config.yaml"
    settings.write_text(
        settings.read_text().replace(
            "provider: anthropic\n  model: claude", "provider: markers\n  model: claude"
        )
    )
    fails(monkeypatch, MODEM)
    one = watch(Harvest, "_harvest_one")
    async with open_harvest(root, SIZES["80x24"]) as driven:
        await driven.press("enter")
        with one.held():
            await driven.send("enter")
            await driven.until(lambda: bool(one) and "in progress …" in driven.text)
            picture(driven, "harvest/under-way-80x24")
        await driven.settle()
        picture(driven, "harvest/3-result-80x24")
    async with open_harvest(root, SIZES["120x40"]) as driven:
        await driven.press("2", "G", "space", "enter", "enter")
        await driven.type("2")
        picture(driven, "harvest/brake-120x40")
    for folder in ("conversations", "raw"):
        shutil.rmtree(root / folder)
    async with open_harvest(root, SIZES["80x24"]) as driven:
        picture(driven, "harvest/empty-80x24")


async def test_the_survey_shows_conversations_and_cost(
    root: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    surveys, prices = watch(Harvest, "survey"), watch(Knowledge, "price_of")
    async with open_harvest(root) as driven:
        assert "8 transcripts in raw/ not harvested yet: :harvest --transcripts" in driven.flat()
        assert "no model used, $0" in driven.text and "tokens" not in driven.text
    with_model(root, monkeypatch)
    async with open_harvest(root) as driven:
        for size in SIZES.values():
            await driven.resize(*size)
            assert "3 to harvest (" in driven.flat() and " input tokens, about $0.00" in driven.flat()
            assert "1 still being written · 1 kept by you" in driven.flat()
            for path in (ROLLUP, CALL, MODEM, SVG, ROUND):
                assert path.rpartition("/")[2][:16] in driven.text
        prices.error = AutopoiesisError("no key is set", hint="set ANTHROPIC_API_KEY")
        await driven.press("ctrl+r")
        assert "no key is set; set ANTHROPIC_API_KEY" in driven.flat() and "3 to harvest" in driven.text
        surveys.error = AutopoiesisError("the disk is gone")
        await driven.press("ctrl+r")
        assert "the disk is gone" in driven.text and "ctrl+r tries again" in driven.text
        await driven.press("enter")
        assert driven.step == "pick" and "no conversations to harvest are selected" in driven.toasts
        surveys.error = None
        await driven.press("ctrl+r")
        assert "3 to harvest" in driven.text


async def test_selecting_confirming_and_going_back_harvests_nothing(root: Path, watch: Watch) -> None:
    runs = watch(Harvest, "run")
    async with open_harvest(root) as driven:
        assert driven.step == "pick" and driven.chosen() == CHOSEN
        assert " · " in driven.line("svg-again") and "by a person" in driven.line("svg-again")
        await driven.press("G", "space")
        assert "skipped" in driven.toasts and driven.chosen() == CHOSEN
        await driven.press("g", "space", "space")
        assert driven.chosen() == [MODEM] and "1 of 3 selected" in driven.text
        await driven.press("a")
        assert driven.chosen() == CHOSEN
        await driven.press("a", "enter")
        assert driven.chosen() == [] and "no conversations to harvest are selected" in driven.toasts

        await driven.press("slash")
        await driven.type("rollup")
        assert driven.chosen() == [] and driven.screen.pick.row_count == 1
        await driven.press("enter", "space")
        assert driven.chosen() == [ROLLUP]
        await driven.press("escape")
        assert driven.screen.pick.row_count == 5 and driven.step == "pick"

        await driven.press("a", "2", "space", "G", "space")
        assert "nothing to do: reclaim is off" in driven.text
        await driven.press("enter")
        assert driven.step == "pick"
        await driven.press("space", "g", "space", "1", "enter")
        assert driven.step == "confirm"
        for words in (
            "2 conversations to harvest", "1 conversation already harvested",
            "Conversations whose knowledge is committed move to the trash",
        ):  # fmt: skip
            assert words in driven.flat(), words
        await driven.press("escape", "g", "space", "enter", "escape")
        assert driven.step == "pick" and driven.chosen() == CHOSEN[1:]
        await driven.press("escape")
        assert not driven.is_open() and not runs


async def test_options_are_passed_to_the_engine(root: Path, watch: Watch) -> None:
    runs = watch(Harvest, "run")
    runs.error = HarvestRefused("not now", where=CALL, hint="see: autopoiesis harvest")
    async with open_harvest(root) as driven:
        for keys, consent, harvest, reclaim, number in (
            ("", Consent(), True, True, 3),
            ("g space", Consent(), True, False, 2),
            ("g space j space j space", Consent(empty=True, partial=True), True, True, 3),
            ("g j space j space j space", Consent(), False, True, 3),
        ):
            runs.clear()
            await driven.press("2", *keys.split(), "enter", "enter")
            assert driven.step == "result" and "not now" in driven.text
            request: HarvestRequest = runs[0][0]
            assert (request.consent, request.harvest, request.reclaim) == (consent, harvest, reclaim)
            assert len(request.paths) == number and not request.transcripts
            await driven.press("H")  # starts over and keeps the options
        await driven.press("2", "G", "space")
        await driven.resize(60, 16)
        assert driven.shows("switches") and not driven.shows("pick")
        await driven.press("tab")
        assert driven.shows("pick") and not driven.shows("switches")
    # if there are only transcripts, they are harvested and kept
    shutil.rmtree(root / "conversations")
    runs.clear()
    async with open_harvest(root) as driven:
        assert "2026-05-19 " in driven.text and "raw/" not in driven.text
        await driven.press("enter")
        assert "all conversations stay where they are" in driven.text
        await driven.press("enter")
        assert [each[0].transcripts for each in runs] == [True]


async def test_a_harvest_commits_and_reclaims_and_its_result_offers_a_retry(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(monkeypatch, MODEM)
    data = (root / CALL).read_bytes()
    async with open_harvest(root) as driven:
        await driven.press("2", *BOTH, "enter", "enter")
        assert driven.step == "result" and not (root / CALL).exists()
        for words in (
            "harvested 1 conversation", "no model used, $0", "in 2 conversations", "not harvested: 1",
            "its third line is not text; kept; f retries",
        ):  # fmt: skip
            assert words in driven.flat(), words
        await driven.press("f")
        assert driven.step == "pick" and driven.chosen() == [MODEM]
        await driven.press("escape")
        ledger = ledger_data.LedgerDriven(driven.app, driven.pilot, driven.engine)
        await ledger.select(CALL)
        assert "in the trash; r restores it" in ledger.text
        await ledger.press("r", "right", "enter")
        assert (root / CALL).read_bytes() == data and "restored by a person" in ledger.text
        await ledger.press("f")  # a failed one is selected again
        await driven.settle()
        assert driven.step == "pick" and driven.chosen() == [MODEM]
    with Engine.open(root, clock=lambda: NOW) as engine:
        entry = next(each for each in engine.knowledge.ledger.entries().values() if each.path == CALL)
        assert entry.restored and entry.status == "harvested"


def ticks(driven: HarvestDriven) -> bool:
    """Whether the elapsed time is being counted."""
    return driven.screen._ticking is not None


async def test_a_run_shows_progress_and_stops_after_the_current_conversation(
    root: Path, watch: Watch
) -> None:
    one, stops = watch(Harvest, "_harvest_one"), watch(Harvest, "stop")
    async with open_harvest(root) as driven:
        for key in ("x", "escape"):  # either stops the run without closing the screen
            one.clear()
            stops.clear()
            await driven.press("enter")
            with one.held():
                await driven.send("enter")
                await driven.until(lambda: bool(one) and "in progress …" in driven.text)
                assert "0 of 3" in driven.text and "queued" in driven.line("kvalnes-modem")
                assert ticks(driven)
                await driven.send(key)
                await driven.until(lambda: bool(stops))
                await driven.until(lambda: "stopping after this one" in driven.text)
                await driven.send("escape", "enter")
            await driven.settle()
            assert driven.step == "result" and "the rest was not read" in driven.text
            assert len(one) == 1 and not ticks(driven)
            await driven.press("H")
        assert driven.is_open()


async def test_a_run_continues_after_the_screen_is_closed(root: Path, watch: Watch) -> None:
    one = watch(Harvest, "_harvest_one")
    async with open_harvest(root) as driven:
        await driven.press("enter")
        with one.held():
            await driven.send("enter")
            await driven.until(lambda: bool(one))
            await driven.send("b")
            await driven.until(lambda: not driven.is_open())
            await driven.send("H")
            await driven.until(lambda: driven.is_open() and "in progress" in driven.text)
            assert driven.step == "confirm" and "0 of 3" in driven.text
            await driven.send("b")
            await driven.until(lambda: not driven.is_open())
            await driven.send("escape")
            await driven.pilot.pause()
            assert "harvested " not in driven.toasts
        await driven.until(lambda: "harvested 3 conversations" in driven.toasts)
        await driven.settle()
        runs = watch(Harvest, "run")
        runs.error = HarvestRefused("the ledger is damaged")
        await driven.press("L", "H", "enter")
        with runs.held():
            await driven.send("enter")
            await driven.until(lambda: bool(runs))
            await driven.send("b")
            await driven.until(lambda: not driven.is_open())
        await driven.until(lambda: "harvest: the ledger is damaged" in driven.toasts)


async def test_a_large_move_needs_exactly_the_right_number(
    root: Path, monkeypatch: pytest.MonkeyPatch, watch: Watch
) -> None:
    monkeypatch.setattr("engine.knowledge.harvest.reclaim.FEW", 1)
    runs = watch(Harvest, "run")
    async with open_harvest(root) as driven:
        # a run refused entirely because of the number asks for it, until the next survey
        runs.error = HarvestRefused("3 would go, over half of 4", hint="--reclaim 3", to_confirm=3)
        await driven.press("2", "G", "space", "enter", "enter")
        assert driven.focused_panel() == "number" and "3 conversations would be moved" in driven.text
        await driven.press("escape", "H")
        assert driven.step == "pick" and "would be moved to the trash" not in driven.text
        runs.error = None
        runs.clear()

        await driven.press("2", "G", "space", "g", *BOTH, "enter", "enter")
        assert driven.focused_panel() == "number" and "would be moved to the trash" in driven.text
        number = driven.screen.brake
        await driven.type(str(number + 1))
        await driven.press("enter")
        assert f"nothing was moved: expected {number}, got {number + 1}" in driven.toasts and len(runs) == 1
        await driven.press("escape", "H")  # the number can still be typed
        assert driven.step == "result" and (root / CALL).exists()
        await driven.press("m")
        await driven.type(str(number))
        await driven.press("enter")
        again: HarvestRequest = runs[1][0]
        assert again.consent == Consent(number=number, empty=True, partial=True)
        assert len(again.paths) == number and not (root / CALL).exists()
        assert f"in {number} conversations" in driven.text and "would be moved" not in driven.text
        assert "harvested 2 conversations" in driven.flat()


async def test_read_only_scans_verifies_and_changes_nothing(root: Path) -> None:
    def content() -> dict[Path, bytes]:
        """All files outside the repository, without those that SQLite needs to read the index."""
        files = (each for each in root.rglob("*") if each.is_file() and ".git" not in each.parts)
        return {each: each.read_bytes() for each in files if not each.name.startswith("memory.db-")}

    before = content()
    async with open_harvest(root, read_only=True) as driven:
        await driven.press("enter", "enter")
        assert "the workspace is read-only" in driven.toasts and driven.step == "confirm"
        await driven.press("escape", "escape", "v")
        await driven.until(lambda: "verified" in driven.text)
    assert content() == before


async def test_the_result_shows_hostile_text_as_text(root: Path) -> None:
    poison(root, COMBINED)
    ledger_data.touch(root)
    async with open_harvest(root, SIZES["80x24"]) as driven:
        for key in ("enter", "enter", "Y"):
            await driven.press(key)
            assert_harmless(driven)
        assert driven.step == "result"
