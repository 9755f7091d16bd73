"""The guided harvest: look, choose, confirm, result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.harvest.reclaim import Consent
from engine.knowledge.harvest.report import Report, Survey
from tests.tui.conftest import SIZES, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.ledger_data import BRAKE, CANDIDATES, DEPLOY, MAILS, PARSER, SCHEMA, harvested, results
from tests.tui.ledger_driven import Harvesting, harvesting

CHOSEN = ["2026-06-10-parser.md", "2026-06-12-deploy.md", "2026-06-12-mails.md", "2026-06-12-schema.md"]


def gives(*reports: Report) -> Callable[[FakeEngine], None]:
    """An engine whose harvests give these reports, one after the other."""
    return lambda engine: engine.knowledge.ledger.reported.extend(reports)


def finds(survey: Survey) -> Callable[[FakeEngine], None]:
    """An engine that finds these conversations."""
    return lambda engine: setattr(engine.knowledge.ledger, "surveyed", survey)


def flat(driven: Harvesting) -> str:
    """What stands on the screen, free of frames and line ends."""
    return " ".join(driven.text.replace("│", " ").split())


async def to_confirm(driven: Harvesting) -> None:
    await driven.press("enter", "enter")
    assert driven.step == "confirm"


@pytest.mark.parametrize("size", SIZES)
async def test_the_first_step_shows_classes_price_and_every_conversation(run: Run, size: str) -> None:
    async with harvesting(run, SIZES[size]) as driven:
        text = flat(driven)
        assert "3 to harvest (23.3 KB) · 1 harvested before (9.2 KB)" in text
        assert "1 still being written · 1 kept by you · 1 left as they are" in text
        assert "~8,675 tokens to send, about $0.0087 and the replies" in text
        for each in CANDIDATES:
            assert each.path.rpartition("/")[2][:16] in driven.text
        assert not driven.wishes()


async def test_markers_ask_no_model_and_cost_nothing(run: Run) -> None:
    async with harvesting(run, prepare=finds(Survey(CANDIDATES, "markers", ""))) as driven:
        assert "no model used, $0" in driven.text and "tokens" not in driven.text


async def test_transcripts_that_were_never_harvested_are_named(run: Run) -> None:
    async with harvesting(run, prepare=finds(Survey(CANDIDATES, "markers", "", left=12))) as driven:
        assert "12 transcripts in raw/ are not harvested yet: :harvest --transcripts" in flat(driven)


async def test_where_only_transcripts_are_they_are_harvested_and_stay(run: Run) -> None:
    found = Survey(CANDIDATES, "markers", "", transcripts=True)
    async with harvesting(run, prepare=finds(found)) as driven:
        await to_confirm(driven)
        assert "every conversation stays where it is" in driven.text
        await driven.press("enter")
        assert [wish.transcripts for wish in driven.wishes()] == [True]


async def test_what_ended_the_run_is_said_once(run: Run) -> None:
    async with harvesting(run, prepare=gives(Report((), stopped="there is no key; set it"))) as driven:
        await to_confirm(driven)
        await driven.press("enter")
        assert flat(driven).count("there is no key") == 1
        assert "stopped: there is no key; set it; the rest was not looked at" in flat(driven)


async def test_a_price_that_is_not_known_says_why(run: Run) -> None:
    def priceless(engine: FakeEngine) -> None:
        def price_of(_survey: Survey) -> float:
            raise AutopoiesisError("no key is set", cure="set ANTHROPIC_API_KEY")

        setattr(engine.knowledge, "price_of", price_of)  # noqa: B010 — a method of the fake

    async with harvesting(run, prepare=priceless) as driven:
        assert "no key is set; set ANTHROPIC_API_KEY" in driven.text and "3 to harvest" in driven.text


async def test_what_can_go_is_chosen_and_the_rest_says_why_it_is_left_alone(run: Run) -> None:
    async with harvesting(run) as driven:
        await driven.press("enter")
        assert driven.step == "pick" and driven.chosen() == CHOSEN
        assert " · " in driven.line("letters.md") and "a person keeps it" in driven.line("letters.md")
        await driven.press("G", "space")
        assert "left alone" in driven.said and driven.chosen() == CHOSEN
        await driven.press("g", "space", "space")
        assert driven.chosen() == CHOSEN[2:]
        assert "2 of 4 chosen" in driven.text
        await driven.press("a")
        assert driven.chosen() == CHOSEN
        await driven.press("a")
        assert driven.chosen() == []
        await driven.press("enter")
        assert driven.step == "pick" and "nothing is chosen" in driven.said


async def test_the_price_follows_what_is_chosen(run: Run) -> None:
    async with harvesting(run) as driven:
        await driven.press("enter", "a", "a", "a", "j", "space")
        assert driven.chosen() == CHOSEN[1:2]
        assert "~4,450 tokens to send, about $0.0044" in flat(driven)


@pytest.mark.parametrize(
    ("keys", "consent", "harvest", "reclaim", "number"),
    [
        ([], Consent(), True, True, 4),
        (["space"], Consent(), True, False, 3),
        (["j", "space", "j", "space"], Consent(empty=True, partial=True), True, True, 4),
        (["G", "space"], Consent(), False, True, 4),
    ],
)
async def test_options_become_the_wish(
    run: Run, keys: list[str], consent: Consent, harvest: bool, reclaim: bool, number: int
) -> None:
    async with harvesting(run) as driven:
        await driven.press("enter", "2", *keys, "enter", "enter")
        [wish] = driven.wishes()
        assert (wish.consent, wish.harvest, wish.reclaim) == (consent, harvest, reclaim)
        assert len(wish.paths) == number and not wish.transcripts


async def test_neither_harvest_nor_reclaim_is_nothing_to_do(run: Run) -> None:
    async with harvesting(run) as driven:
        await driven.press("enter", "2", "space", "G", "space")
        assert "nothing would happen at all" in driven.text
        await driven.press("enter")
        assert driven.step == "pick" and not driven.wishes()


async def test_the_third_step_says_what_happens_and_starts_only_with_enter(run: Run) -> None:
    async with harvesting(run) as driven:
        await to_confirm(driven)
        text = flat(driven)
        assert "3 conversations to harvest" in text and "about $0.0087" in text
        assert "1 conversation harvested before" in text
        assert "Conversations whose knowledge is committed move to the trash" in text
        assert not driven.wishes()
        await driven.press("enter")
        assert [wish.paths for wish in driven.wishes()] == [(PARSER, DEPLOY, MAILS, SCHEMA)]


async def test_esc_goes_back_step_by_step_and_keeps_the_choice(run: Run) -> None:
    async with harvesting(run) as driven:
        await driven.press("enter", "space", "enter", "escape")
        assert driven.step == "pick" and driven.chosen() == CHOSEN[1:]
        await driven.press("escape")
        assert driven.step == "survey"
        await driven.press("escape")
        assert not driven.is_open() and not driven.wishes()


async def test_the_result_counts_items_money_reviews_failures_and_reasons(run: Run) -> None:
    async with harvesting(run) as driven:
        await to_confirm(driven)
        await driven.press("enter")
        assert driven.step == "result"
        text = flat(driven)
        assert "harvested 2 conversations" in text and "6: 4 facts · 2 decisions" in text
        assert "known 2 stood there already" in text
        assert "knowledge/facts.md:12 The pool holds 20 connections." in text
        assert "2 items; v in the workbench settles them" in text
        assert "anthropic claude-haiku-4-5: 8,000 + 560 tokens, $0.0109" in text
        assert "reclaimed 23.0 KB in 2 conversations" in text
        assert "not harvested: 1" in text and "f tries those again" in text
        assert "nothing was found in it (option: also empty)" in text
        await driven.press("escape")
        assert not driven.is_open()


async def test_what_failed_can_be_chosen_for_another_run(run: Run) -> None:
    async with harvesting(run) as driven:
        await to_confirm(driven)
        await driven.press("enter", "f")
        assert driven.step == "survey"
        await driven.press("enter")
        assert driven.chosen() == CHOSEN[:1]


async def test_f_among_the_entries_chooses_what_failed(run: Run) -> None:
    async with harvesting(run, key="f") as driven:
        await driven.press("enter")
        assert driven.chosen() == CHOSEN[:1]


async def test_each_conversation_gets_its_line_as_it_comes_and_x_stops_after_this_one(run: Run) -> None:
    still = threading.Event()
    async with harvesting(run, gates={f"harvest {DEPLOY}": still}) as driven:
        await to_confirm(driven)
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked(f"harvest {DEPLOY}")))
        await driven.until(lambda: "under way" in driven.text)
        assert "1 of 4" in driven.text and "under way …" in driven.line("2026-06-12-deploy.md")
        assert "harvest output invalid" in driven.line("2026-06-10-parser.md")
        assert "waits" in driven.line("2026-06-12-mails.md")
        await driven.send("x")
        await driven.until(lambda: bool(driven.engine.asked("stop harvest")))
        await driven.until(lambda: "stopping after this one" in driven.text)
        await driven.send("escape", "enter")
        assert driven.is_open() and len(driven.wishes()) == 1
        still.set()
        await driven.settle()
        assert driven.step == "result" and "the rest was not looked at" in driven.text
        assert not driven.engine.asked(f"harvest {MAILS}")


async def test_esc_stops_a_run_and_does_not_leave(run: Run) -> None:
    still = threading.Event()
    async with harvesting(run, gates={f"harvest {PARSER}": still}) as driven:
        await to_confirm(driven)
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked(f"harvest {PARSER}")))
        await driven.send("escape")
        await driven.until(lambda: bool(driven.engine.asked("stop harvest")))
        assert driven.is_open()
        still.set()
        await driven.settle()
        assert driven.step == "result"


async def test_a_run_goes_on_when_the_screen_is_left_and_is_told_in_passing(run: Run) -> None:
    still = threading.Event()
    async with harvesting(run, gates={f"harvest {DEPLOY}": still}) as driven:
        await to_confirm(driven)
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked(f"harvest {DEPLOY}")))
        await driven.send("b")
        await driven.until(lambda: not driven.is_open())
        await driven.send("escape")
        await driven.pilot.pause()
        still.set()
        await driven.until(lambda: "harvested 3 conversations, 1 failed, 2 reclaimed" in driven.said)
        assert not driven.engine.asked("stop harvest")


async def test_who_comes_back_finds_the_run_as_far_as_it_is(run: Run) -> None:
    still = threading.Event()
    async with harvesting(run, gates={f"harvest {DEPLOY}": still}) as driven:
        await to_confirm(driven)
        await driven.send("enter")
        await driven.until(lambda: bool(driven.engine.asked(f"harvest {DEPLOY}")))
        await driven.send("b")
        await driven.until(lambda: not driven.is_open())
        await driven.send("H")
        await driven.until(driven.is_open)
        await driven.until(lambda: "under way" in driven.text)
        assert driven.step == "confirm" and "1 of 4" in driven.text
        still.set()
        await driven.until(lambda: driven.step == "result")
        assert len(driven.wishes()) == 1


BRAKED = (Report(results(BRAKE)), Report((
    harvested(DEPLOY, 14_200, commit="", reclaimed=True), replace(results()[3], reclaimed=True),
)))  # fmt: skip


async def test_the_brake_asks_for_exactly_the_number_and_then_moves_them(run: Run) -> None:
    async with harvesting(run, prepare=gives(*BRAKED)) as driven:
        await to_confirm(driven)
        await driven.press("enter")
        assert driven.in_use() == "number" and "2 conversations would go to the trash" in driven.text
        await driven.type("3")
        await driven.press("enter")
        assert "nothing is moved: 3 is not 2" in driven.said and len(driven.wishes()) == 1
        await driven.press("m")
        await driven.type("2")
        await driven.press("enter")
        _first, again = driven.wishes()
        assert again.consent == Consent(number=2) and again.paths == (DEPLOY, SCHEMA)
        text = flat(driven)
        assert "reclaimed 23.0 KB in 2 conversations" in text and "would go" not in text
        assert "6: 4 facts · 2 decisions" in text and "not harvested: 1" in text


async def test_esc_at_the_number_moves_nothing_and_m_asks_again(run: Run) -> None:
    async with harvesting(run, prepare=gives(*BRAKED)) as driven:
        await to_confirm(driven)
        await driven.press("enter", "escape")
        assert driven.in_use() == "outcome" and len(driven.wishes()) == 1
        await driven.press("escape", "H")
        assert driven.step == "result" and "would go to the trash" in driven.text
        await driven.press("m")
        assert driven.in_use() == "number"
        await driven.press("escape", "H", "escape", "H")
        assert driven.step == "survey" and "would go to the trash" not in driven.text


async def test_a_run_that_is_refused_for_its_number_asks_for_it_too(run: Run) -> None:
    refused = HarvestRefused("4 would go to the trash, over half of 4", cure="--reclaim 4")
    async with harvesting(run, failing={"harvest": refused}) as driven:
        await driven.press("enter", "2", "G", "space", "enter", "enter")
        assert driven.in_use() == "number"
        driven.engine.failing.clear()
        await driven.type("4")
        await driven.press("enter")
        assert [(len(wish.paths), wish.consent.number) for wish in driven.wishes()] == [(4, None), (4, 4)]
        assert not driven.wishes()[1].harvest and driven.step == "result"


async def test_a_run_that_is_refused_says_why(run: Run) -> None:
    refused = HarvestRefused("is no conversation that waits", where=DEPLOY, cure="see: autopoiesis harvest")
    async with harvesting(run, failing={"harvest": refused}) as driven:
        await to_confirm(driven)
        await driven.press("enter")
        assert driven.step == "result" and "is no conversation that waits" in driven.text
        await driven.press("H")
        assert driven.step == "survey"


async def test_a_look_that_fails_says_why_and_can_be_tried_again(run: Run) -> None:
    async with harvesting(run, failing={"survey": AutopoiesisError("the disk is gone")}) as driven:
        assert "the disk is gone" in driven.text
        await driven.press("enter")
        assert driven.step == "survey" and "there is no conversation" in driven.said
        driven.engine.failing.clear()
        await driven.press("ctrl+r")
        assert "3 to harvest" in driven.text


async def test_nothing_to_harvest_says_so(run: Run) -> None:
    async with harvesting(run, prepare=finds(Survey((), "markers", ""))) as driven:
        assert "There is no conversation to harvest." in driven.text


async def test_read_only_looks_and_does_not_start(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with harvesting(run) as driven:
        await to_confirm(driven)
        await driven.press("enter")
        assert "the workspace is read-only" in driven.said and not driven.wishes()


async def test_the_filter_narrows_and_chooses_nothing_by_itself(run: Run) -> None:
    async with harvesting(run) as driven:
        await driven.press("enter", "slash")
        await driven.type("deploy")
        await driven.press("enter", "space")
        assert driven.screen.pick.row_count == 1
        assert driven.chosen() == [CHOSEN[0], *CHOSEN[2:]]
        await driven.press("escape")
        assert driven.screen.pick.row_count == len(CANDIDATES) and driven.step == "pick"


async def test_on_a_low_screen_tab_brings_the_options(run: Run) -> None:
    async with harvesting(run, (60, 16)) as driven:
        await driven.press("enter")
        assert driven.shows("pick") and not driven.shows("switches")
        await driven.press("tab")
        assert driven.shows("switches") and not driven.shows("pick")
        await driven.press("space", "enter", "enter")
        assert driven.step == "result" and not driven.wishes()[0].reclaim


async def test_seconds_are_counted_only_while_a_harvest_is_under_way(run: Run) -> None:
    still = threading.Event()
    async with harvesting(run, gates={f"harvest {PARSER}": still}) as driven:
        assert driven.screen._ticking is None
        await to_confirm(driven)
        await driven.send("enter")
        await driven.until(lambda: driven.screen._ticking is not None)
        still.set()
        await driven.settle()
        assert driven.screen._ticking is None
