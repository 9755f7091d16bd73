"""Rows whose notes come late, rows of other days, the footer's keys under the mouse, and who is answered."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.activation.trace import Contribution, TopicTrace
from engine.errors import AutopoiesisError
from engine.live.feed import FeedEntry
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW
from tests.tui.test_live import ASKED
from tui.kit.bars import Footer, key_at
from tui.kit.clipboard import past_tmux
from tui.render.evidence import PROBABILITY, for_and_against, signal_table
from tui.render.roles import PLAIN, Roles
from tui.screens.workbench.commandline import run_line


async def test_the_filter_finds_a_row_by_a_note_that_came_later(run: Run) -> None:
    async with run() as driven:
        rows = [FeedEntry(NOW, "user", f"message {number}", key=f"k{number}") for number in range(50)]
        driven.bench.feed.show(rows)
        driven.bench.feed.filter("release")
        assert driven.bench.feed.row_count == 0
        driven.bench.feed.show([*rows[:7], replace(rows[7], note="release"), *rows[8:]])
        assert driven.bench.feed.row_count == 1
        await driven.settle()
        assert "message 7" in driven.text


async def test_a_row_of_another_day_shows_its_day_where_there_is_no_room_for_both(run: Run) -> None:
    async with run((80, 24)) as driven:
        yesterday = FeedEntry(NOW - timedelta(days=1), "user", "before", key="a")
        driven.bench.feed.show([yesterday, FeedEntry(NOW, "user", "now", key="b")])
        await driven.settle()
        assert f"{yesterday.at:%m-%d} ← before" in driven.text and f"{NOW:%H:%M} ← now" in driven.text


async def test_a_letter_that_does_something_here_answers_no_question(run: Run) -> None:
    async with run() as driven:
        await driven.press("2")
        driven.engine.publish(ASKED)
        await driven.settle()
        assert "ctrl+y yes" in driven.text
        await driven.press("n")
        assert driven.engine.asked("label") and not driven.engine.asked("answer")
        await driven.press("ctrl+n")
        assert driven.engine.asked("answer") == [("answer", ASKED.question_id, False)]


async def test_a_click_on_a_key_of_the_footer_presses_it(run: Run) -> None:
    async with run() as driven:
        footer = driven.bench.query_one(Footer)
        await driven.pilot.click(footer, offset=(driven.lines[-1].index("? help") + 3, 0))
        await driven.settle()
        assert driven.app.screen is not driven.bench and "Go to the digest" in driven.text


def test_of_keys_that_share_their_words_the_one_pointed_at_is_meant() -> None:
    entries = [("1–5", "panel"), ("y n", "useful / noise")]
    roles = Roles.of({}, coloured=False)
    found = [key_at(entries, 100, roles, x) for x in (0, 2, 8, 13, 15, 20, 60)]
    assert found == ["", "1", "1", "y", "n", "y", ""]


async def test_what_is_copied_is_in_a_file_that_is_named_and_private(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    async with run() as driven:
        monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
        assert driven.app._driver is not None
        monkeypatch.setattr(driven.app._driver, "write", written.append)
        await driven.press("1", "Y")
        (file,) = home.rglob("copied.txt")
        assert file.read_text() == driven.app.clipboard != ""
        assert file.stat().st_mode & 0o777 == 0o600
        assert past_tmux(driven.app.clipboard) in written
        assert "copied.txt" in driven.text


def test_a_tmux_sequence_carries_the_text() -> None:
    assert past_tmux("ö") == "\x1bPtmux;\x1b\x1b]52;c;w7Y=\x07\x1b\\"


def test_a_command_that_never_ends_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="serve needs a terminal of its own"):
        run_line(tmp_path, "serve --port 0", deadline_s=5)


def test_the_rows_of_an_explanation_add_up_to_the_score() -> None:
    weights = {"vectors": 2.9, "classifier": 2.7, "coverage": -0.1}
    parts = tuple(Contribution(name, weight) for name, weight in weights.items())
    row = TopicTrace(
        "deploy", "medium", "auto", (), (), 0.04, 0.3, 0.6, 0.4, "", None, "dropped", "", "", parts
    )
    lines = [line.text.split() for line in signal_table(row, PROBABILITY, 60, PLAIN)[-2:]]
    ends = {name: float(number.replace("−", "-")) for name, number in lines}
    assert ends["sum"] == pytest.approx(math.log(0.04 / 0.96), abs=0.01)
    assert ends["base"] + sum(weights.values()) == pytest.approx(ends["sum"], abs=0.01)
    _for, against = for_and_against(row, 60, PLAIN)
    assert "base −8.7" in "".join(line.text for line in against[1])
