"""The budget panel's extra lines: its density, what 500 more tokens would add, and the model's window."""

from __future__ import annotations

from dataclasses import replace

from engine.context.compiled import LeftOut, Slot
from tests.cases import each_case
from tests.tui.fake_engine import review_compiled
from tui.render.budget import (
    FEW,
    alone_and_found,
    best_of,
    budget_frame,
    budget_lines,
    next_row,
)
from tui.render.draw import Row
from tui.render.roles import PLAIN

DEPLOY = LeftOut(
    "knowledge:a", 3, "knowledge", "knowledge/procedures/deploy.md", "12-40", 180, 0.4, "r", "room"
)
TURNS = LeftOut("history:3-9", 4, "history", "", "", 60, None, "older", "room")
MANY = tuple(
    replace(DEPLOY, source=f"knowledge/notes/{number}.md", tokens=100 + number, score=number / 400)
    for number in range(356)
)
MORE = replace(review_compiled(), next_pieces=(DEPLOY, TURNS))


def text(rows: list[Row]) -> str:
    return "\n".join(row.text.rstrip() for row in rows)


def test_what_more_tokens_would_add_has_a_line_if_there_is_room() -> None:
    assert "+500 knowledge/procedures/deploy.md:12-40 180 · 1 more" in text(budget_lines(MORE, 60, 30, PLAIN))
    assert "+500" not in text(budget_lines(MORE, 60, 8, PLAIN))
    assert "+500" not in text(budget_lines(review_compiled(), 60, 30, PLAIN))


@each_case(
    ("width", "shown"),
    [
        (80, "18 % for this message · 80 % always there · 2 % conversation"),
        (48, "18 % for this message · 80 % always there"),
        (32, "18 % for this message"),
    ],
)
def test_the_share_that_answers_the_message_stands_below_the_gauge(width: int, shown: str) -> None:
    assert budget_lines(MORE, width, 30, PLAIN)[1].text == shown
    assert budget_frame(MORE) == "6,912/8,192 tok · 18 % for message"
    assert budget_frame(None) == ""


@each_case("width", [24, 32, 48, 80])
def test_the_line_fits_and_keeps_the_end_of_the_path(width: int) -> None:
    row = next_row(MORE, width, PLAIN)
    assert row.cells <= width
    assert "md:12-40"[-4:] in row.text
    assert "history:3-9 60" in next_row(replace(MORE, next_pieces=(TURNS,)), width, PLAIN).text


@each_case("width", [32, 38, 48, 60, 80, 120])
def test_a_slot_over_its_cap_fits_and_the_numbers_stay_in_one_column(width: int) -> None:
    slots = (
        Slot("identity", 0, 4_500, 4_352),
        Slot("memory", 1, 612, 1_024),
        Slot("knowledge", 3, 14_900, None),
    )
    rows = [
        row
        for row in budget_lines(replace(review_compiled(), slots=slots), width, 30, PLAIN)
        if row.text[:2] in ("P0", "P1", "P3")
    ][:3]
    assert [row.text.split()[1] for row in rows] == ["identity", "memory", "knowledge"]
    assert all(row.cells <= width for row in rows)
    assert rows[0].text.endswith("4,500/4,352 !")
    ends = {
        row.text.index(used) + len(used) for row, used in zip(rows, ("4,500", "612", "14,900"), strict=True)
    }
    assert len(ends) == 1


@each_case("width", [30, 44, 63, 64, 100])
def test_many_left_out_search_results_are_one_line_below_the_rest(width: int) -> None:
    topic = LeftOut("topic:deploy", 2, "topics", "topics/deploy.md", "", 420, None, "no room", "room")
    compiled = replace(review_compiled(), left_out=(*MANY[:200], topic, *MANY[200:]), dropped_turns=0)
    rows = budget_lines(compiled, width, 40, PLAIN)
    assert all(row.cells <= width for row in rows)
    shown = text(rows)
    total = sum(each.tokens for each in MANY)
    assert f"357 left out · {total + 420:,} tok" in shown
    after = shown.split("left out", 1)[1]
    assert after.index("deploy.md") < after.index("356 search results") < after.index("notes/355.md")
    assert f"{total:,}" in after and shown.count("knowledge/notes/") + shown.count("notes/355.md:12-40") <= 2
    assert "notes/354.md" not in shown


def test_few_search_results_stay_in_their_order() -> None:
    left_out = (*MANY[:FEW], TURNS)
    assert alone_and_found(left_out) == (left_out, ())
    assert alone_and_found((MANY[0], *left_out)) == ((TURNS,), (MANY[0], *MANY[:FEW]))
    unsearched = replace(MANY[0], score=None)  # the note that no search ran is not a search result
    assert alone_and_found((unsearched, *left_out))[1] == ()


def test_a_result_already_in_the_prompt_is_not_the_best_left_out() -> None:
    repeated = replace(MANY[0], source="knowledge/repeated.md", score=0.99, reason="already there", limit="")
    assert best_of((repeated, *MANY)) == MANY[-1]
    assert best_of((replace(MANY[9], limit=""), repeated)) == repeated


def test_hostile_names_are_shown_only_as_text() -> None:
    bad = replace(DEPLOY, source="a\x1b[2J\n[red].md", label="x:\x1b", lines="\u202e")
    shown = text(budget_lines(replace(MORE, next_pieces=(bad,)), 60, 30, PLAIN))
    assert "\x1b" not in shown and "\u202e" not in shown
