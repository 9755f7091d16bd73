"""Drawing of ledger and harvest: width and content."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.knowledge.harvest.classify import Candidate
from engine.knowledge.harvest.report import Report, Result, Survey
from engine.knowledge.item import Item, KnownItem
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.knowledge.verify import CheckedEntry, CheckedLine
from tui.render.figures import use_zone
from tui.render.roles import PLAIN
from tui.screens.harvest.draw import Choice, draw_choice, draw_outcome, draw_stage, stage_item
from tui.screens.harvest.run import HarvestRun, Progress, summary
from tui.screens.harvest.screen import draw_classes, draw_trail, elapsed
from tui.screens.harvest.state import HarvestState, Price
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
CANDIDATES = tuple(
    Candidate(f"conversations/{name}.md", "harvest", "is not harvested yet", size, text_size=size)
    for name, size in (("deploy", 14_200), ("mails", 6_100))
)
LINES = tuple(LedgerLine(f"item{at}", "knowledge/facts.md", f"- Gauge {at} is red.") for at in range(3))
ENTRY = LedgerEntry(
    CANDIDATES[0].path, "harvested", "2026-06-12T18:47:30+00:00", {"facts": 2, "decisions": 1}, lines=LINES,
    known=1, held=("item7",), provider="anthropic", model="claude-haiku-4-5", input_tokens=3_550,
    output_tokens=260, cost_usd=0.0049, size=14_200, shown=14_200,
)  # fmt: skip
KNOWN = KnownItem(Item("facts", "It is red."), "knowledge/facts.md", 12, "- It is red.", 1.0)
DONE = Result(
    CANDIDATES[0].path, 14_200, "harvested", ENTRY, is_new=True, known=(KNOWN,), items=ENTRY.items, held=1
)
KEPT = replace(DONE, kept="2 would go to the trash; confirm the number with: --reclaim 2", to_confirm=2)
FAILED = Result(
    CANDIDATES[1].path, 6_100, "failed",
    replace(ENTRY, path=CANDIDATES[1].path, status="harvest-failed", cost_usd=0.0011), error="no JSON",
)  # fmt: skip


def progress(*results: Result, **more: Any) -> Progress:
    return Progress({each.path: each for each in results}, ended=True, **more)


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
    result = replace(DONE, path=text, kept=text, error=text, entry=entry)
    stage = stage_item(text, result, current=False, stopping=False, running=True)
    assert draw_stage(stage, width, PLAIN, chosen=True).cells <= width
    ended = progress(result, report=Report((result,), (text,), (text,), text))
    assert all(row.cells <= width for row in draw_outcome(ended, "v", width, PLAIN))
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


def test_the_result_counts_items_tokens_and_failures() -> None:
    ended = progress(
        replace(DONE, reclaimed=True), FAILED, replace(DONE, path="conversations/c.md", kept="none")
    )
    text = " ".join(row.text for row in draw_outcome(ended, "v", 100, PLAIN))
    for words in (
        "harvested   2 conversations", "6: 4 facts · 2 decisions", "known       2 already known",
        "knowledge/facts.md:12  It is red.", "2 items; press v in the workbench to review",
        "anthropic claude-haiku-4-5: 10,650 + 780 tokens, $0.0109", "reclaimed   13.9 KB in 1 conversation",
        "not harvested: 1", "f retries", "not reclaimed 1  none",
    ):  # fmt: skip
        assert words in text, (words, text)
    option = progress(replace(DONE, kept="no items found (--reclaim-empty)"))
    assert "(option: also empty)" in " ".join(row.text for row in draw_outcome(option, "v", 100, PLAIN))
    stopped = progress(report=Report((), stopped="there is no key"))
    text = " ".join(row.text for row in draw_outcome(stopped, "v", 100, PLAIN))
    assert text.startswith("stopped: there is no key; the rest was not read")


def test_tally_counts_lines_and_lost_entries() -> None:
    states = ("there", "edited", "gone")
    lines = tuple(CheckedLine(line, state) for line, state in zip(LINES, states, strict=True))  # type: ignore[arg-type]
    tally = Tally.of([CheckedEntry("1", ENTRY, "there", lines), CheckedEntry("2", ENTRY, "lost", ())])
    assert str(tally) == "2 entries verified, 1 lost · lines: 1 there, 1 edited, 1 gone"
    assert [each.lost for each in newest_first({"1": ENTRY, "2": ENTRY}, tally.lost)] == [True, False]


def test_price_is_proportional_to_the_selection() -> None:
    survey = Survey(CANDIDATES, "anthropic", "a-model")
    half = Price.of(survey, 1.0, CANDIDATES[:1])
    assert half.tokens == 4_450 and half.dollars == pytest.approx(4_450 / survey.tokens)
    assert "nothing to send" in str(Price.of(survey, 1.0, []))
    assert "price unknown" in str(Price.of(survey, None, CANDIDATES))


def test_number_to_confirm_comes_from_results_or_the_refusal() -> None:
    assert progress(KEPT, FAILED).brake == 2
    assert progress(problem="no", to_confirm=3).brake == 3
    assert progress(DONE, problem="no").brake == 0


def test_second_run_keeps_the_results_of_the_first() -> None:
    first = progress(KEPT, FAILED, report=Report((KEPT, FAILED)))
    run = HarvestRun(HarvestState().request, CANDIDATES, 0.0, first)
    run.add_result(replace(DONE, is_new=False, reclaimed=True))
    run.end(Report(()))
    done, failed = run.progress.results.values()
    assert done.reclaimed and done.is_new and not done.kept and failed.outcome == "failed"
    assert summary(progress(problem="the disk is full")) == "harvest: the disk is full"


def test_elapsed() -> None:
    assert elapsed(3, 17, 42.9) == "3 of 17 · 0:42"
