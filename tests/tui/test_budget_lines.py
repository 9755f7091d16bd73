"""The budget panel's quiet lines: what one more KiB would bring, and the model's window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.context.compiled import LeftOut
from tests.tui.fake_engine import review_compiled
from tui.draw import Row
from tui.render.budget import budget_lines, next_row, prompt_lines
from tui.roles import PLAIN

DEPLOY = LeftOut(
    "knowledge:a", 3, "knowledge", "knowledge/procedures/deploy.md", "12-40", 180, 0.4, "r", "room"
)
TURNS = LeftOut("history:3-9", 4, "history", "", "", 60, None, "older", "room")
MORE = replace(review_compiled(), next_kb=(DEPLOY, TURNS), model="claude-haiku-4-5", window=200_000)


def text(rows: list[Row]) -> str:
    return "\n".join(row.text.rstrip() for row in rows)


def test_one_more_kib_has_a_line_where_there_is_room() -> None:
    assert "+1 KiB knowledge/procedures/deploy.md:12-40 180 · 1 more" in text(
        budget_lines(MORE, 60, 30, PLAIN)
    )
    assert "+1 KiB" not in text(budget_lines(MORE, 60, 8, PLAIN))
    assert "+1 KiB" not in text(budget_lines(review_compiled(), 60, 30, PLAIN))


@pytest.mark.parametrize("width", [24, 32, 48, 80])
def test_the_line_fits_and_keeps_the_end_of_the_path(width: int) -> None:
    row = next_row(MORE, width, PLAIN)
    assert row.cells <= width
    assert "md:12-40"[-4:] in row.text
    assert "history:3-9 60" in next_row(replace(MORE, next_kb=(TURNS,)), width, PLAIN).text


def test_the_share_of_the_window_stands_below() -> None:
    percent = 100 * MORE.tokens / 200_000
    shown = " ".join(text(budget_lines(MORE, 60, 30, PLAIN)).split())
    assert f"{percent:.1f} % of the 200,000 tokens that claude-haiku-4-5 takes" in shown
    assert "tokens that" not in text(budget_lines(review_compiled(), 60, 30, PLAIN))


def test_the_prompt_page_names_every_piece_that_one_more_kib_would_bring() -> None:
    shown = " ".join(text(prompt_lines(MORE, 100, PLAIN)).split())
    assert "1 KiB more would bring: knowledge/procedures/deploy.md:12-40 (180), history 3-9 (60)" in shown


def test_hostile_names_stay_text() -> None:
    bad = replace(DEPLOY, source="a\x1b[2J\n[red].md", label="x:\x1b", lines="\u202e")
    shown = text(budget_lines(replace(MORE, next_kb=(bad,), model="m\x1b[2J"), 60, 30, PLAIN))
    assert "\x1b" not in shown and "\u202e" not in shown
