"""The feed: any length, followed until a hand moves, filtered, and never a queue of work behind it."""

from __future__ import annotations

import threading
from typing import get_args

import pytest

from engine.errors import AutopoiesisError
from engine.live.feed import FeedEntry, FeedKind
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, feed_entries
from tui.render.roles import PLAIN
from tui.screens.workbench.feed_panel import KINDS, feed_row, matches

MANY = 100_000


@pytest.fixture(scope="module")
def many() -> list[FeedEntry]:
    return [
        FeedEntry(NOW, "user" if number % 3 else "file", f"message {number}", f"n{number}", f"k#{number}")
        for number in range(MANY)
    ]


async def test_a_hundred_thousand_rows_cost_what_a_screenful_costs(run: Run, many: list[FeedEntry]) -> None:
    async with run(entries=many) as driven:
        feed = driven.bench.feed
        height = feed.size.height
        assert feed.row_count == MANY
        assert feed.drawn <= 2 * height
        await driven.press("g", "G", "ctrl+u", "ctrl+u", "ctrl+d")
        assert feed.drawn <= 6 * height
        drawn = feed.drawn
        feed.refresh()
        await driven.settle()
        assert feed.drawn == drawn


async def test_it_follows_the_newest_message_and_keeps_the_tail_in_view(run: Run) -> None:
    async with run((80, 24)) as driven:
        feed = driven.bench.feed
        assert feed.selected is not None and feed.selected.text.startswith("Can you review")
        assert "memory: 3 fa" in driven.text
        more = [FeedEntry(NOW, "user", f"later {number}", "", f"later#{number}") for number in range(30)]
        driven.engine.entries = [*driven.engine.entries, *more]
        feed.show(driven.engine.entries)
        await driven.settle()
        assert feed.selected == more[-1]
        assert "later 29" in driven.text
        assert driven.bench.activation.shown.key == "later#29"


async def test_a_hand_on_it_ends_the_following_and_g_brings_it_back(run: Run) -> None:
    async with run() as driven:
        feed = driven.bench.feed
        await driven.press("k", "k")
        chosen = feed.selected
        driven.engine.entries = [*driven.engine.entries, FeedEntry(NOW, "user", "later", "", "later#0")]
        feed.show(driven.engine.entries)
        await driven.settle()
        assert feed.selected == chosen
        assert "G follows" in driven.text
        await driven.press("G")
        assert feed.selected is not None and feed.selected.text == "later"
        assert "following" in driven.text


async def test_the_selection_stays_when_old_rows_fall_off(run: Run) -> None:
    async with run() as driven:
        feed = driven.bench.feed
        await driven.press("g", "j", "j", "j")
        chosen = feed.selected
        feed.show(driven.engine.entries[2:])
        assert feed.selected == chosen


async def test_a_note_that_arrives_later_keeps_the_row(run: Run) -> None:
    async with run() as driven:
        await driven.press("g", "2", "j")
        topic = driven.bench.activation.selected
        first, *rest = driven.engine.entries
        noted = FeedEntry(first.at, first.kind, first.text, "another", first.key)
        driven.bench.feed.show([noted, *rest])
        await driven.settle()
        assert driven.bench.feed.cursor == 0
        assert driven.bench.activation.selected == topic


async def test_moving_fast_asks_only_for_the_row_it_ends_on(run: Run) -> None:
    async with run() as driven:
        still = threading.Event()
        driven.engine.gates["trace_of"] = still
        driven.engine.calls.clear()
        await driven.pilot.press("g", *["j"] * 9)
        still.set()
        await driven.settle()
        keys = [call[1] for call in driven.engine.asked("trace_of")]
        assert len(keys) <= 3
        selected = driven.bench.feed.selected
        assert selected is not None and keys[-1] == selected.key == driven.bench.activation.shown.key


async def test_the_filter_narrows_marks_and_goes_round(run: Run) -> None:
    async with run() as driven:
        feed = driven.bench.feed
        await driven.press("slash")
        await driven.type("MAIL")
        assert [entry.kind for entry in (feed._item(at) for at in range(feed.row_count))] == [
            "topics", "user", "tool",
        ]  # fmt: skip
        assert "3 of 11" in driven.text
        await driven.press("enter")
        start = feed.cursor
        await driven.press("n")
        assert feed.cursor == (start + 1) % 3
        await driven.press("N", "N")
        assert feed.cursor == (start - 1) % 3
        await driven.press("escape")
        assert feed.row_count == 11


async def test_new_rows_pass_the_filter_too(run: Run) -> None:
    async with run() as driven:
        feed = driven.bench.feed
        feed.filter("mail")
        feed.show([*driven.engine.entries, FeedEntry(NOW, "user", "more mail", "", "m#0")])
        assert feed.row_count == 4
        feed.filter("nothing like this")
        await driven.settle()
        assert "nothing holds these words" in driven.text


async def test_rows_that_are_no_messages_say_so(run: Run) -> None:
    async with run() as driven:
        await driven.press("g", "j", "j")
        assert "nothing was scored" in driven.text


async def test_a_trace_that_cannot_be_had_shows_why(run: Run, engine: FakeEngine) -> None:
    engine.failing["trace_of"] = AutopoiesisError("is gone", where="a.md#3", cure="rescan")
    async with run() as driven:
        assert "a.md#3: is gone; rescan" in driven.text


def test_every_kind_has_a_sign_and_a_meaning() -> None:
    assert set(KINDS) == set(get_args(FeedKind))
    assert len({sign for sign, _meaning in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("width", [10, 20, 40, 70, 200])
def test_a_row_never_outgrows_its_width(width: int) -> None:
    for entry in feed_entries():
        assert feed_row(entry, width, PLAIN).strip(width).cell_length == width
        assert feed_row(entry, width, PLAIN).cells <= max(width, 10)


def test_rows_are_found_by_text_and_note() -> None:
    entry = FeedEntry(NOW, "commit", "memory: 3 facts\nand more", "a81f2c0")
    assert matches(entry, "FACTS") and matches(entry, "a81") and matches(entry, "more")
    assert not matches(entry, "decision")
