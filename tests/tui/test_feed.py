"""The feed: long feeds, following, filtering, and fetching no more than needed."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import get_args

import pytest

from engine.errors import AutopoiesisError
from engine.live.feed import FeedEntry, FeedKind
from tests.cases import each_case
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, feed_entries
from tui.render.roles import PLAIN
from tui.screens.workbench.panels import KINDS, feed_row, matches

MANY = 100_000


@pytest.fixture(scope="module")
def many_entries() -> list[FeedEntry]:
    return [
        FeedEntry(NOW, "user" if number % 3 else "file", f"message {number}", f"n{number}", f"k#{number}")
        for number in range(MANY)
    ]


async def test_a_hundred_thousand_rows_cost_no_more_than_a_screenful(
    run: Run, many_entries: list[FeedEntry]
) -> None:
    async with run(entries=many_entries) as driven:
        feed = driven.bench.feed
        height = feed.size.height
        await driven.pilot.pause()
        assert feed.row_count == MANY
        assert 0 < feed.drawn <= 2 * height
        for key in ("g", "G", "ctrl+u", "ctrl+u", "ctrl+d"):
            await driven.press(key)
            await driven.pilot.pause()
        assert feed.drawn <= 6 * height
        drawn = feed.drawn
        feed.refresh()
        await driven.pilot.pause()
        assert feed.drawn == drawn


async def test_the_feed_is_followed_until_the_user_moves_and_keeps_the_selection(run: Run) -> None:
    async with run((80, 24)) as driven:
        feed = driven.bench.feed
        step = "starts with the newest message and the tail in view"
        assert feed.selected is not None and feed.selected.text.startswith("Can you review"), step
        assert "memory: 3 fa" in driven.text, step

        step = "follows new messages"
        more = [FeedEntry(NOW, "user", f"later {number}", "", f"later#{number}") for number in range(30)]
        driven.engine.entries = [*driven.engine.entries, *more]
        feed.show(driven.engine.entries)
        await driven.settle()
        assert feed.selected == more[-1], step
        assert "later 29" in driven.text, step
        assert driven.bench.activation.shown.key == "later#29", step

        step = "moving by hand stops following"
        await driven.press("k", "k")
        chosen = feed.selected
        driven.engine.entries = [*driven.engine.entries, FeedEntry(NOW, "user", "the last", "", "last#0")]
        feed.show(driven.engine.entries)
        await driven.settle()
        assert feed.selected == chosen, step
        assert "G follows" in driven.text, step

        step = "G resumes following"
        await driven.press("G")
        assert feed.selected is not None and feed.selected.text == "the last", step
        assert "following" in driven.text, step

        step = "a row that is not a message says so"
        await driven.press("g", "j", "j")
        assert "nothing was scored" in driven.text, step

        step = "the selection stays when old rows are dropped"
        await driven.press("j")
        chosen = feed.selected
        driven.engine.entries = driven.engine.entries[2:]
        feed.show(driven.engine.entries)
        assert feed.selected == chosen, step

        step = "a note that arrives later keeps the row"
        await driven.press("g", "2", "j")
        topic = driven.bench.activation.selected
        first, *rest = driven.engine.entries
        feed.show([FeedEntry(first.at, first.kind, first.text, "another", first.key), *rest])
        await driven.settle()
        assert feed.cursor == 0, step
        assert driven.bench.activation.selected == topic, step


async def test_moving_fast_fetches_only_the_last_row(run: Run) -> None:
    async with run() as driven:
        release = threading.Event()
        driven.engine.blocked["trace_of"] = release
        driven.engine.calls.clear()
        await driven.pilot.press("g", *["j"] * 9)
        release.set()
        await driven.settle()
        keys = [call[1] for call in driven.engine.calls_of("trace_of")]
        assert len(keys) <= 3
        selected = driven.bench.feed.selected
        assert selected is not None and keys[-1] == selected.key == driven.bench.activation.shown.key


async def test_the_filter_narrows_highlights_and_wraps_around(run: Run) -> None:
    async with run() as driven:
        feed = driven.bench.feed
        await driven.press("slash")
        await driven.type("MAIL")
        kinds = [feed.item_at(at).kind for at in range(feed.row_count)]
        assert kinds == ["topics", "user", "tool"]
        assert "3 of 11" in driven.text
        await driven.press("enter")
        start = feed.cursor
        await driven.press("n")
        assert feed.cursor == (start + 1) % 3
        await driven.press("N", "N")
        assert feed.cursor == (start - 1) % 3

        step = "new rows are filtered too"
        feed.show([*driven.engine.entries, FeedEntry(NOW, "user", "more mail", "", "m#0")])
        assert feed.row_count == 4, step
        feed.filter("nothing like this")
        await driven.settle()
        assert "no matches" in driven.text, step

        step = "esc clears the filter"
        feed.show(driven.engine.entries)
        await driven.press("escape")
        assert feed.row_count == 11, step

        step = "the filter finds a row by a note that arrived later"
        rows = [FeedEntry(NOW, "user", f"message {number}", key=f"k{number}") for number in range(50)]
        feed.show(rows)
        feed.filter("release")
        assert feed.row_count == 0, step
        feed.show([*rows[:7], replace(rows[7], note="release"), *rows[8:]])
        assert feed.row_count == 1, step
        await driven.settle()
        assert "message 7" in driven.text, step


async def test_a_missing_trace_says_why_and_rows_of_other_days_show_the_day(
    run: Run, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.failing["trace_of"] = AutopoiesisError("is gone", where="a.md#3", hint="rescan")
    async with run((80, 24)) as driven:
        assert "a.md#3: is gone; rescan" in driven.text

        step = "a row of another day shows the day if there is no room for both"
        yesterday = FeedEntry(NOW - timedelta(days=1), "user", "before", key="a")
        driven.bench.feed.show([yesterday, FeedEntry(NOW, "user", "now", key="b")])
        await driven.settle()
        assert f"{yesterday.at:%m-%d} ← before" in driven.text and f"{NOW:%H:%M} ← now" in driven.text, step

        step = "a day starts with its first row, and a late older row does not end it"
        tomorrow = FeedEntry(NOW + timedelta(days=1), "user", "after", key="c")
        late = FeedEntry(NOW - timedelta(days=2), "user", "late", key="d")
        seen: list[int] = []
        taken = driven.bench.feed.taken

        def record_start(start: int) -> None:
            seen.append(start)
            taken(start)

        monkeypatch.setattr(driven.bench.feed, "taken", record_start)
        rows = [yesterday, FeedEntry(NOW, "user", "now", key="b")]
        for more in (tomorrow, late):
            rows = [*rows, more]
            driven.bench.feed.show(rows)
            await driven.settle()
            assert f"{NOW:%m-%d} ← now" in driven.text and f"{tomorrow.at:%H:%M} ← after" in driven.text, step
        assert f"{late.at:%m-%d} ← late" in driven.text, step
        assert seen == [2, 3], "existing rows were processed again"

        step = "other content has its own newest day"
        driven.bench.feed.show(rows[:2])
        await driven.settle()
        assert f"{NOW:%H:%M} ← now" in driven.text, step


def test_every_kind_has_a_sign_and_a_description() -> None:
    assert set(KINDS) == set(get_args(FeedKind))
    assert len({sign for sign, _meaning in KINDS.values()}) == len(KINDS)


@each_case("width", [10, 20, 40, 70, 200])
def test_rows_fit_their_width(width: int) -> None:
    for entry in feed_entries():
        assert feed_row(entry, width, PLAIN).strip(width).cell_length == width
        assert feed_row(entry, width, PLAIN).cells <= max(width, 10)


def test_rows_are_found_by_text_and_note() -> None:
    entry = FeedEntry(NOW, "commit", "memory: 3 facts\nand more", "a81f2c0")
    assert matches(entry, "FACTS") and matches(entry, "a81") and matches(entry, "more")
    assert not matches(entry, "decision")
