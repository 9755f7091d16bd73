"""Panels 3 to 5: digest, ledger and budget."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from engine.context.compiled import Slot, SlotName
from engine.context.views import DigestView, LedgerRow, LedgerView
from tests.cases import each_case
from tests.tui.conftest import Run
from tests.tui.fake_engine import DIGEST, ledger_rows, review_compiled
from tui.render.budget import PLAIN_FILLS, stacked
from tui.render.digest import digest_lines, digest_state
from tui.render.draw import Row
from tui.render.roles import PLAIN
from tui.screens.ledger.draw import by_category
from tui.screens.workbench.memory_panels import (
    failure,
    ledger_line,
    ledger_row,
    ledger_summary,
    matches,
    memory_lines,
)

ON = DigestView(True, 3174, 4096, DIGEST)


def text(rows: list[Row]) -> str:
    """Lines as one text."""
    return "\n".join(row.text.rstrip() for row in rows)


def test_text_that_is_not_provenance_is_kept() -> None:
    view = replace(ON, text="## Facts\n- a [link](x) [from: y]\n- [x] done\nplain\n")
    shown = text(digest_lines(view, 60, PLAIN))
    assert "a [link](x) [from: y]" in shown and "✓ done" in shown and "plain" in shown


def test_the_digest_says_that_it_is_off_and_why() -> None:
    off = DigestView(False, 0, 4096, "")
    assert text(digest_lines(off, 80, PLAIN)).startswith("off: knowledge/digest.md does not exist")
    assert digest_state(off) == ("off", False)


def test_the_digest_reports_problems() -> None:
    assert "is a folder" in text(digest_lines(DigestView(False, 0, 4096, "", "is a folder"), 60, PLAIN))
    assert digest_state(replace(ON, size=5120)) == ("5.0/4.0 KB · too large", True)
    assert digest_state(ON) == ("3.1/4.0 KB · on", False)


def test_an_oversized_digest_is_cut_and_says_so() -> None:
    rows = digest_lines(replace(ON, text="## Facts\n" + "- a fact\n" * 100_000), 60, PLAIN)
    assert len(rows) < 5000 and "more characters not shown" in rows[-1].text


def test_ledger_rows_show_their_status_by_sign_and_word() -> None:
    good, _second, bad, large, *_rest = ledger_rows()
    assert ledger_row(good, 40, PLAIN).text.startswith("✓ 06-12  investigate-cache")
    assert ledger_row(good, 40, PLAIN).text.endswith("17")
    assert ledger_row(bad, 40, PLAIN).text.endswith("failed")
    assert ledger_row(large, 40, PLAIN).text.endswith("too large")
    assert "8 facts · 4 file notes" in ledger_row(good, 80, PLAIN).text
    assert "line 14" in ledger_row(bad, 90, PLAIN).text
    slug = "we-are-reviewing-the-session-dates.md"
    session = replace(good, name=f"0047-163396cf-348b-4175-90f5-5ca0986ac0f1-{slug}", items={})
    assert slug in ledger_row(session, 80, PLAIN).text


@each_case("width", [12, 24, 40, 60, 120])
def test_ledger_rows_fit(width: int) -> None:
    odd = LedgerRow("ab" * 32, "something-new", "yesterday", "", 0, {}, False, "")
    for row in (*ledger_rows(), odd):
        assert ledger_row(row, width, PLAIN).strip(width).cell_length == width


def test_the_ledger_is_summarised() -> None:
    view = LedgerView(ledger_rows())
    assert ledger_line(view) == "8, 1 failed"
    assert ledger_summary(view)[:2] == [("✓", 5, "harvested"), ("!", 1, "failed")]
    assert failure(view) == "hosting-quota: the reply is no JSON: line 14, column 3"
    assert by_category(ledger_rows()[0].items) == "8 facts · 4 file notes · 3 decisions · 2 questions"


def test_ledger_entries_are_found_by_name_error_and_state() -> None:
    bad = ledger_rows()[2]
    assert matches(bad, "QUOTA") and matches(bad, "json") and matches(bad, "failed")
    assert not matches(bad, "harvested,")


async def test_many_ledger_entries_cost_no_more_than_a_screenful(run: Run) -> None:
    rows = tuple(
        LedgerRow(
            f"{number:064d}", "harvested", "2026-06-12T09:00:00+00:00", f"talk-{number}", 1, {"facts": 1}
        )
        for number in range(20_000)
    )
    async with run((160, 50), ledger_view=LedgerView((*ledger_rows(), *rows))) as driven:
        await driven.press("4", "j", "j")
        assert "the reply is no JSON" in driven.text, "a failed one says why"
        for key in ("G", "g", "ctrl+d"):
            await driven.press(key)
            await driven.pilot.pause()
        assert 0 < driven.bench.ledger_panel.drawn < 120


@each_case("width", [10, 20, 35, 60, 120])
def test_the_stacked_gauge_fills_its_width(width: int) -> None:
    compiled = review_compiled()
    assert stacked(compiled, width, PLAIN).cells == width
    empty = replace(compiled, slots=(), budget=0, reply_reserve=0)
    assert stacked(empty, width, PLAIN).cells == width


@each_case(("used", "cells"), [((1, 1, 1, 1), 1), ((100, 60, 60, 80), 4), ((300, 200, 200, 200), 11)])
def test_the_stacked_gauge_is_as_full_as_the_budget(used: tuple[int, ...], cells: int) -> None:
    names: tuple[SlotName, ...] = ("system", "memory", "topics", "knowledge")
    slots = tuple(Slot(name, number, used[number], None) for number, name in enumerate(names))
    compiled = replace(review_compiled(), slots=slots, budget=1_000, reply_reserve=20)
    gauge = stacked(compiled, 12, PLAIN, coloured=False).text
    assert sum(gauge.count(fill) for fill in PLAIN_FILLS) == cells


def test_without_colour_priorities_differ_by_their_fill() -> None:
    gauge = stacked(review_compiled(), 120, PLAIN, coloured=False).text
    assert all(fill in gauge for fill in PLAIN_FILLS)


@each_case("width", [40, 56, 76, 120])
def test_the_folded_panel_has_a_line_per_panel(width: int) -> None:
    rows = memory_lines(ON, LedgerView(ledger_rows()), review_compiled(), width, PLAIN)
    assert [row.text.split()[:2] for row in rows] == [["3", "digest"], ["4", "ledger"], ["5", "budget"]]
    assert memory_lines(None, None, None, width, PLAIN)[0].text.endswith("reading …")


def test_the_folded_panel_reports_problems() -> None:
    rows = memory_lines(replace(ON, problem="unreadable"), LedgerView((), "broken"), None, 76, PLAIN)
    assert "unreadable" in rows[0].text and "! broken" in rows[1].text


@pytest.mark.parametrize(
    ("part", "empty"), [("feed", "Turns appear here"), ("ledger", "nothing harvested yet")]
)
async def test_an_empty_list_says_so_once_it_is_read(run: Run, part: str, empty: str) -> None:
    release = threading.Event()
    async with run(settle=False, blocked={part: release}, entries=[], ledger_view=LedgerView(())) as driven:
        driven.watch()
        await driven.until(lambda: driven.engine.calls_of(part))
        assert "reading …" in driven.text
        release.set()
        await driven.settle()
        assert empty in driven.text
        assert "reading …" not in driven.text
