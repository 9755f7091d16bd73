"""Drawing of ledger and harvest: width and content."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.knowledge.harvest.report import Report, Survey
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.knowledge.verify import CheckedEntry, CheckedLine
from tests.tui.ledger_data import (
    BRAKE,
    CANDIDATES,
    DEPLOY,
    HARVESTED,
    LOST,
    PARSER,
    entries,
    harvest_result,
    results,
)
from tui.render.figures import use_zone
from tui.render.roles import PLAIN
from tui.screens.harvest.draw import Choice, draw_choice, draw_outcome, draw_stage, stage_item
from tui.screens.harvest.run import HarvestRun, Progress, summary
from tui.screens.harvest.screen import draw_classes, draw_trail, elapsed
from tui.screens.harvest.state import HarvestState, Price, SurveyRead
from tui.screens.ledger.draw import (
    Check,
    RecordItem,
    RecordView,
    draw_record,
    draw_record_page,
    newest_first,
    timestamp,
)
from tui.screens.ledger.screen import Tally

WIDTHS = st.integers(24, 200)


@given(st.text(max_size=60), WIDTHS)
def test_rows_fit_their_width(text: str, width: int) -> None:
    line = LedgerLine("x", text, text)
    entry = LedgerEntry(
        text, "harvested", text, {text: 3}, lines=(line,), held=(text,), provider=text, size=9, error=text
    )
    item = RecordItem("a" * 64, entry)
    assert draw_record(item, [item], width, PLAIN, query=text[:3], chosen=True).cells <= width
    checked = CheckedEntry(item.sha256, entry, "changed", (CheckedLine(line, "there", text, 3),))
    page = draw_record_page(RecordView(item, Check(checked, 1, text)), width, PLAIN)
    assert all(row.cells <= width for row, _line in page)
    choice = Choice(replace(CANDIDATES[0], path=text, why=text), True)
    assert draw_choice(choice, [choice], width, PLAIN, query="", chosen=False).cells <= width
    result = harvest_result(text, 4, kept=text, error=text, entry=entry)
    stage = stage_item(text, result, current=False, stopping=False, running=True)
    assert draw_stage(stage, width, PLAIN, chosen=True).cells <= width
    progress = Progress({text: result}, ended=True, report=Report((result,), (text,), (text,), text))
    assert all(row.cells <= width for row in draw_outcome(progress, "v", width, PLAIN))
    assert all(row.cells <= width for row in draw_classes(Survey(CANDIDATES, text, text), width, PLAIN))
    assert draw_trail("pick", width, PLAIN).cells <= width


def test_times_are_those_of_the_persons_zone_and_others_are_shown_as_they_are() -> None:
    use_zone(lambda: "Asia/Kolkata")
    try:
        assert timestamp("2026-06-12T14:23:45Z") == "2026-06-12 19:53:45"
        assert timestamp("2026-06-12T23:30:00+02:00") == "2026-06-13 03:00:00"
        for other in ("yesterday", "", "9999-12-31T23:59:59Z"):
            assert timestamp(other) == other
    finally:
        use_zone(str)


def test_tally_counts_lines_and_lost_entries() -> None:
    entry = entries()[HARVESTED]
    states = ("there", "edited", "gone")
    lines = tuple(CheckedLine(line, state) for line, state in zip(entry.lines, states, strict=True))  # type: ignore[arg-type]
    tally = Tally.of([CheckedEntry(HARVESTED, entry, "there", lines), CheckedEntry(LOST, entry, "lost", ())])
    assert str(tally) == "2 entries verified, 1 lost · lines: 1 there, 1 edited, 1 gone"
    assert [each.lost for each in newest_first(entries(), tally.lost)] == [False] * 5 + [True]


def test_price_is_proportional_to_the_selection() -> None:
    survey = Survey(CANDIDATES, "anthropic", "a-model")
    half = Price.of(survey, 1.0, [CANDIDATES[2]])
    assert half.tokens == 4_450 and half.dollars == pytest.approx(4_450 / survey.tokens)
    assert "nothing to send" in str(Price.of(survey, 1.0, []))
    assert "price unknown" in str(Price.of(survey, None, CANDIDATES))


def test_number_to_confirm_comes_from_results_or_the_refusal() -> None:
    assert Progress({each.path: each for each in results(BRAKE, 2)}, ended=True).brake == 2
    assert Progress({}, ended=True, problem=BRAKE, to_confirm=3).brake == 3
    assert Progress({each.path: each for each in results(BRAKE)}, ended=True, problem=BRAKE).brake == 0


def test_second_run_keeps_the_results_of_the_first() -> None:
    first = Progress(
        {each.path: each for each in results(BRAKE, 2)}, ended=True, report=Report(results(BRAKE, 2))
    )
    run = HarvestRun(HarvestState().request, CANDIDATES, 0.0, first)
    run.add_result(harvest_result(DEPLOY, 14_200, is_new=False, reclaimed=True))
    run.end(Report(()))
    after = run.progress.results
    assert after[DEPLOY].reclaimed and after[DEPLOY].is_new and not after[DEPLOY].kept
    assert after[PARSER].outcome == "failed"
    assert summary(Progress({}, ended=True, problem="the disk is full")) == "harvest: the disk is full"


def test_request_never_means_all_conversations() -> None:
    state = HarvestState()
    state.take(SurveyRead(Survey(CANDIDATES, "markers", "")))
    assert len(state.request.paths) == len(state.chosen) == 4
    state.switch("reclaim")
    assert len(state.chosen) == 3
    state.switch("no-harvest")
    assert state.chosen == []


def test_elapsed() -> None:
    assert elapsed(3, 17, 42.9) == "3 of 17 · 0:42"
