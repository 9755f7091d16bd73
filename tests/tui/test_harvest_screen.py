"""The guided harvest: selection, confirmation, result."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.report import Consent, Report, Survey
from tests.tui.conftest import SIZES, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.ledger_data import BRAKE, CANDIDATES, DEPLOY, MAILS, PARSER, SCHEMA, harvest_result, results
from tests.tui.screen_driven import HarvestDriven, open_harvest

CHOSEN = ["2026-06-10-parser.md", "2026-06-12-deploy.md", "2026-06-12-mails.md", "2026-06-12-schema.md"]


BRAKED = (Report(results(BRAKE, 2)), Report((
    harvest_result(DEPLOY, 14_200, is_new=False, reclaimed=True), replace(results()[3], reclaimed=True),
)))  # fmt: skip


def flat(driven: HarvestDriven) -> str:
    """The screen's text without frames and line breaks."""
    return " ".join(driven.text.replace("│", " ").split())


def timer_is_running(driven: HarvestDriven) -> bool:
    """Whether the elapsed time is being counted."""
    return driven.screen._ticking is not None


async def go_to_confirm(driven: HarvestDriven) -> None:
    await driven.press("enter")
    assert driven.step == "confirm"


async def start_blocked_at(driven: HarvestDriven, path: str) -> threading.Event:
    """Starts a harvest that blocks at a conversation until the returned event is set."""
    release = driven.engine.blocked[f"harvest {path}"] = threading.Event()
    driven.engine.calls.clear()
    await go_to_confirm(driven)
    await driven.send("enter")
    await driven.until(lambda: bool(driven.engine.calls_of(f"harvest {path}")))
    return release


async def test_survey_shows_conversations_and_cost(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_harvest(run) as driven:
        for size in SIZES.values():
            await driven.resize(*size)
            text = flat(driven)
            assert "3 to harvest (23.3 KB) · 1 already harvested (9.2 KB)" in text
            assert "1 still being written · 1 kept by you · 1 skipped" in text
            assert "~8,675 input tokens, about $0.0087 plus output" in text
            for each in CANDIDATES:
                assert each.path.rpartition("/")[2][:16] in driven.text

        await driven.resize(*SIZES["120x40"])
        usual = driven.ledger.surveyed
        driven.ledger.surveyed = Survey(CANDIDATES, "markers", "", left=12)
        await driven.press("ctrl+r")
        assert "no model used, $0" in driven.text and "tokens" not in driven.text
        assert "12 transcripts in raw/ not harvested yet: :harvest --transcripts" in flat(driven)

        def no_price(_survey: Survey) -> float:
            raise AutopoiesisError("no key is set", hint="set ANTHROPIC_API_KEY")

        driven.ledger.surveyed = usual
        with monkeypatch.context() as patch:
            patch.setattr(driven.engine.knowledge, "price_of", no_price)
            await driven.press("ctrl+r")
        assert "no key is set; set ANTHROPIC_API_KEY" in driven.text and "3 to harvest" in driven.text

        driven.engine.failing["survey"] = AutopoiesisError("the disk is gone")
        await driven.press("ctrl+r")
        assert "the disk is gone" in driven.text
        await driven.press("enter")
        assert driven.step == "pick" and "no conversations to harvest are selected" in driven.toasts
        driven.engine.failing.clear()
        await driven.press("ctrl+r")
        assert "3 to harvest" in driven.text

        driven.ledger.surveyed = Survey((), "markers", "")
        await driven.press("ctrl+r")
        assert "No conversations to harvest." in driven.text
        assert not driven.requests()


async def test_selecting_confirming_and_going_back_harvests_nothing(run: Run) -> None:
    async with open_harvest(run) as driven:
        assert driven.step == "pick" and driven.chosen() == CHOSEN
        assert " · " in driven.line("letters.md") and "kept by a person" in driven.line("letters.md")
        await driven.press("G", "space")
        assert "skipped" in driven.toasts and driven.chosen() == CHOSEN
        await driven.press("g", "space", "space")
        assert driven.chosen() == CHOSEN[2:]
        assert "2 of 4 selected" in driven.text
        await driven.press("a")
        assert driven.chosen() == CHOSEN
        await driven.press("a")
        assert driven.chosen() == []
        await driven.press("enter")
        assert driven.step == "pick" and "no conversations to harvest are selected" in driven.toasts

        await driven.press("slash")
        await driven.type("deploy")
        assert driven.chosen() == [] and driven.screen.pick.row_count == 1
        await driven.press("enter", "space")
        assert driven.chosen() == CHOSEN[1:2]
        assert "~4,450 input tokens, about $0.0044" in flat(driven)
        await driven.press("escape")
        assert driven.screen.pick.row_count == len(CANDIDATES) and driven.step == "pick"

        await driven.press("a", "2", "space", "G", "space")
        assert "nothing to do: reclaim is off" in driven.text
        await driven.press("enter")
        assert driven.step == "pick" and not driven.requests()
        await driven.press("space", "g", "space", "1", "enter")
        assert driven.step == "confirm"
        text = flat(driven)
        assert "3 conversations to harvest" in text and "about $0.0087" in text
        assert "1 conversation already harvested" in text
        assert "Conversations whose knowledge is committed move to the trash" in text

        await driven.press("escape", "g", "space", "enter", "escape")
        assert driven.step == "pick" and driven.chosen() == CHOSEN[1:]
        await driven.press("escape")
        assert not driven.is_open() and not driven.requests()


async def test_options_are_passed_to_the_engine(run: Run) -> None:
    async with open_harvest(run) as driven:
        for keys, consent, harvest, reclaim, number in (
            ("", Consent(), True, True, 4),
            ("g space", Consent(), True, False, 3),
            ("g space j space j space", Consent(empty=True, partial=True), True, True, 4),
            ("g j space j space j space", Consent(), False, True, 4),
        ):
            driven.engine.calls.clear()
            await driven.press("2", *keys.split(), "enter", "enter")
            assert driven.step == "result"
            [request] = driven.requests()
            assert (request.consent, request.harvest, request.reclaim) == (consent, harvest, reclaim)
            assert len(request.paths) == number and not request.transcripts
            await driven.press("H")  # starts over and keeps the options


async def test_result_shows_outcomes_and_offers_a_retry(run: Run) -> None:
    async with open_harvest(run) as driven:
        await go_to_confirm(driven)
        assert not driven.requests()
        await driven.press("enter")
        assert [request.paths for request in driven.requests()] == [(PARSER, DEPLOY, MAILS, SCHEMA)]
        assert driven.step == "result"
        text = flat(driven)
        assert "harvested 2 conversations" in text and "6: 4 facts · 2 decisions" in text
        assert "known 2 already known" in text
        assert "knowledge/facts.md:12 The pool holds 20 connections." in text
        assert "2 items; press v in the workbench to review" in text
        assert "anthropic claude-haiku-4-5: 8,000 + 560 tokens, $0.0109" in text
        assert "reclaimed 23.0 KB in 2 conversations" in text
        assert "not harvested: 1" in text and "f retries" in text
        assert "no items found (option: also empty)" in text
        await driven.press("f")
        assert driven.step == "pick" and driven.chosen() == CHOSEN[:1]

        # the result shows why a run ended or was refused
        driven.ledger.reported.append(Report((), stopped="there is no key; set it"))
        await driven.press("H")
        await go_to_confirm(driven)
        await driven.press("enter")
        assert flat(driven).count("there is no key") == 1
        assert "stopped: there is no key; set it; the rest was not read" in flat(driven)
        hint = "see: autopoiesis harvest"
        driven.engine.failing["harvest"] = HarvestRefused("no such conversation", where=DEPLOY, hint=hint)
        await driven.press("H")
        await go_to_confirm(driven)
        await driven.press("enter")
        assert driven.step == "result" and "no such conversation" in driven.text
        driven.engine.failing.clear()

        # if there are only transcripts, they are harvested and kept
        driven.ledger.surveyed = Survey(CANDIDATES, "markers", "", transcripts=True)
        driven.engine.calls.clear()
        await driven.press("H")
        await go_to_confirm(driven)
        assert "all conversations stay where they are" in driven.text
        await driven.press("enter")
        assert [request.transcripts for request in driven.requests()] == [True]

        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("f")
        assert driven.step == "pick" and driven.chosen() == CHOSEN[:1]


async def test_run_shows_progress_and_stops_after_the_current_conversation(run: Run) -> None:
    async with open_harvest(run) as driven:
        assert not timer_is_running(driven)
        release = await start_blocked_at(driven, DEPLOY)
        await driven.until(lambda: "in progress" in driven.text)
        assert "1 of 4" in driven.text and "in progress …" in driven.line("2026-06-12-deploy.md")
        assert "harvest output invalid" in driven.line("2026-06-10-parser.md")
        assert "queued" in driven.line("2026-06-12-mails.md")
        assert timer_is_running(driven)
        await driven.send("x")
        await driven.until(lambda: bool(driven.engine.calls_of("stop harvest")))
        await driven.until(lambda: "stopping after this one" in driven.text)
        await driven.send("escape", "enter")
        assert driven.is_open() and len(driven.requests()) == 1
        release.set()
        await driven.settle()
        assert driven.step == "result" and "the rest was not read" in driven.text
        assert not driven.engine.calls_of(f"harvest {MAILS}") and not timer_is_running(driven)

        await driven.press("H")
        release = await start_blocked_at(driven, PARSER)
        await driven.send("escape")  # stops the run without closing the screen
        await driven.until(lambda: bool(driven.engine.calls_of("stop harvest")))
        assert driven.is_open()
        release.set()
        await driven.settle()
        assert driven.step == "result"


async def test_run_continues_after_the_screen_is_closed(run: Run) -> None:
    async with open_harvest(run) as driven:
        release = await start_blocked_at(driven, DEPLOY)
        await driven.send("b")
        await driven.until(lambda: not driven.is_open())
        await driven.send("H")
        await driven.until(driven.is_open)
        await driven.until(lambda: "in progress" in driven.text)
        assert driven.step == "confirm" and "1 of 4" in driven.text
        release.set()
        await driven.until(lambda: driven.step == "result")
        assert len(driven.requests()) == 1

        await driven.press("H")
        release = await start_blocked_at(driven, DEPLOY)
        await driven.send("b")
        await driven.until(lambda: not driven.is_open())
        await driven.send("escape")
        await driven.pilot.pause()
        assert "harvested 3" not in driven.toasts
        release.set()
        await driven.until(lambda: "harvested 3 conversations, 1 failed, 2 reclaimed" in driven.toasts)
        assert not driven.engine.calls_of("stop harvest")

        await driven.press("L", "H")
        driven.engine.failing[f"harvest {PARSER}"] = HarvestRefused("the ledger is damaged")
        release = await start_blocked_at(driven, PARSER)
        await driven.send("b")
        await driven.until(lambda: not driven.is_open())
        release.set()
        await driven.until(lambda: "harvest: the ledger is damaged" in driven.toasts)


async def test_large_move_needs_exactly_the_right_number(run: Run) -> None:
    async with open_harvest(run) as driven:
        driven.ledger.reported.extend(BRAKED)
        await go_to_confirm(driven)
        await driven.press("enter")
        assert (
            driven.focused_panel() == "number"
            and "2 conversations would be moved to the trash" in driven.text
        )
        await driven.type("3")
        await driven.press("enter")
        assert "nothing was moved: expected 2, got 3" in driven.toasts and len(driven.requests()) == 1
        await driven.press("m")
        await driven.type("2")
        await driven.press("enter")
        _first, again = driven.requests()
        assert again.consent == Consent(number=2) and again.paths == (DEPLOY, SCHEMA)
        text = flat(driven)
        assert "reclaimed 23.0 KB in 2 conversations" in text and "would be moved" not in text
        assert "6: 4 facts · 2 decisions" in text and "not harvested: 1" in text

        # esc moves nothing; the number can still be typed until the next survey
        driven.ledger.reported.append(BRAKED[0])
        driven.engine.calls.clear()
        await driven.press("H")
        await go_to_confirm(driven)
        await driven.press("enter", "escape")
        assert driven.focused_panel() == "outcome" and len(driven.requests()) == 1
        await driven.press("escape", "H")
        assert driven.step == "result" and "would be moved to the trash" in driven.text
        await driven.press("m")
        assert driven.focused_panel() == "number"
        await driven.press("escape", "H", "escape", "H")
        assert driven.step == "pick" and "would be moved to the trash" not in driven.text

        # a run refused entirely because of the number also asks for it
        refused = HarvestRefused("4 would go, over half of 4", hint="--reclaim 4", to_confirm=4)
        driven.engine.failing["harvest"] = refused
        driven.engine.calls.clear()
        await driven.press("2", "G", "space", "enter", "enter")
        assert driven.focused_panel() == "number"
        driven.engine.failing.clear()
        await driven.type("4")
        await driven.press("enter")
        assert [(len(request.paths), request.consent.number) for request in driven.requests()] == [
            (4, None),
            (4, 4),
        ]
        assert not driven.requests()[1].harvest and driven.step == "result"


async def test_read_only_scans_but_does_not_start(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with open_harvest(run) as driven:
        await go_to_confirm(driven)
        await driven.press("enter")
        assert "the workspace is read-only" in driven.toasts and not driven.requests()


async def test_on_a_low_screen_tab_shows_the_options(run: Run) -> None:
    async with open_harvest(run, (60, 16)) as driven:
        assert driven.shows("pick") and not driven.shows("switches")
        await driven.press("tab")
        assert driven.shows("switches") and not driven.shows("pick")
        await driven.press("space", "enter", "enter")
        assert driven.step == "result" and not driven.requests()[0].reclaim
