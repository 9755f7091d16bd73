"""What comes in while the workbench is open: bursts, questions, progress, troubles; and silence."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from textual.app import App

from engine.context.compiled import Compiled
from engine.context.views import LedgerView
from engine.errors import AutopoiesisError
from engine.events import (
    Committed,
    FileChanged,
    GateAsked,
    GateClosed,
    Indexed,
    IndexProgress,
    PromptCompiled,
    TopicsReloaded,
    Trouble,
    TurnArrived,
    TurnTraced,
    WatchState,
)
from engine.live.feed import FeedEntry
from engine.transcripts.turn import Text, Turn
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, review_compiled, review_trace, status_view
from tui.kit.clock import Clock
from tui.kit.questions import Questions

ASKED = GateAsked(NOW, "q1", "code-style", "Is this tidy?", "House rules for code", 30.0)


def turn(number: int) -> TurnArrived:
    """A turn that arrives."""
    said = Turn("user", "18:47", (Text(f"turn {number}"),))
    return TurnArrived(NOW, f"t#{number}", "t", "ses", said)


async def test_a_burst_is_one_reading(run: Run) -> None:
    async with run() as driven:
        driven.engine.calls.clear()
        driven.engine.publish(*(turn(number) for number in range(500)))
        driven.engine.entries = [*driven.engine.entries, FeedEntry(NOW, "user", "turn 499", "", "t#499")]
        await driven.settle()
        assert len(driven.engine.asked("feed")) == 1
        assert not driven.engine.asked("ledger")
        assert "turn 499" in driven.text


async def test_events_come_from_any_thread(run: Run) -> None:
    async with run() as driven:
        driven.engine.calls.clear()
        threads = [
            threading.Thread(target=driven.engine.publish, args=(turn(number),)) for number in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        await driven.settle()
        assert 1 <= len(driven.engine.asked("feed")) <= 2


async def test_nothing_is_drawn_while_nothing_changes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async with run() as driven:
        await driven.press("i")
        drawn: list[object] = []
        original = App._display

        def display(self: App[Any], screen: Any, renderable: Any) -> None:
            if renderable is not None:
                drawn.append(renderable)
            original(self, screen, renderable)

        monkeypatch.setattr(App, "_display", display)
        await asyncio.sleep(1.3)
        await driven.pilot.pause()
        assert not drawn
        driven.engine.publish(FileChanged(NOW, "topics/deploy.md", "changed"), WatchState("live"))
        await driven.settle()
        assert not drawn


async def test_a_new_trace_of_the_message_in_view_is_fetched(run: Run) -> None:
    async with run() as driven:
        key = driven.bench.shown.key
        driven.engine.calls.clear()
        driven.engine.traces[key] = replace(review_trace(), rows=review_trace().rows[:1])
        driven.engine.publish(TurnTraced("other#1", review_trace()), TurnTraced(key, review_trace()))
        await driven.settle()
        assert [call[1] for call in driven.engine.asked("trace_of")] == [key]
        assert driven.bench.activation.row_count == 1


async def test_a_new_prompt_changes_the_gauge(run: Run) -> None:
    async with run() as driven:
        smaller: Compiled = replace(review_compiled(), tokens=1234)
        driven.engine.compiled = smaller
        driven.engine.publish(PromptCompiled(driven.bench.shown.key, smaller))
        await driven.settle()
        assert "1,234/8,192" in driven.lines[0]


async def test_the_ledger_is_read_when_its_file_changes(run: Run) -> None:
    async with run() as driven:
        driven.engine.ledger_view = LedgerView(())
        driven.engine.publish(FileChanged(NOW, "knowledge/ledger.json", "changed"))
        await driven.settle()
        assert "nothing harvested yet" in driven.text


@pytest.mark.parametrize("event", [TopicsReloaded(NOW, ("deploy",), 43, ()), Committed(NOW, "abc", "x")])
async def test_the_status_follows(run: Run, event: TopicsReloaded | Committed) -> None:
    async with run() as driven:
        driven.engine.status_value = status_view(branch="feature", topics=43)
        driven.engine.publish(event)
        await driven.settle()
        assert "git feature" in driven.lines[0]


async def test_a_watch_that_fails_over_is_seen(run: Run) -> None:
    async with run((200, 60)) as driven:
        driven.engine.status_value = status_view(watch_mode="polling", watch_why="too many folders")
        driven.engine.publish(WatchState("polling", "too many folders"))
        await driven.settle()
        assert "◐ polling" in driven.lines[0] and "too many folders" in driven.lines[0]


async def test_indexing_shows_how_far_it_is_and_goes_away(run: Run) -> None:
    async with run() as driven:
        driven.engine.publish(IndexProgress(120, 1204))
        await driven.settle()
        assert "indexing 120/1,204" in driven.lines[0]
        driven.engine.publish(IndexProgress(1204, 1204))
        await driven.settle()
        assert "indexing" not in driven.lines[0]


async def test_what_search_finds_now_stands_in_the_prompt_that_is_shown(run: Run) -> None:
    async with run() as driven:
        key = driven.bench.shown.key
        driven.engine.calls.clear()
        driven.engine.compiled = replace(review_compiled(), tokens=4321)
        driven.engine.publish(Indexed(3))
        await driven.settle()
        assert ("compile_of", key) in driven.engine.calls
        assert "4,321" in driven.lines[0]


async def test_a_message_being_typed_is_left_alone_by_the_index(run: Run) -> None:
    async with run() as driven:
        await driven.press("i", *"hello", "enter")
        driven.engine.calls.clear()
        driven.engine.publish(Indexed(3))
        await driven.settle()
        assert not [call for call in driven.engine.calls if call[0] in ("compile_of", "try_message")]


async def test_troubles_are_told(run: Run) -> None:
    async with run() as driven:
        driven.engine.publish(Trouble(NOW, "the index is broken; it is built again"))
        await driven.settle()
        assert "the index is broken; it is built again" in driven.text


async def test_an_engine_that_cannot_be_read_is_told(run: Run, engine: FakeEngine) -> None:
    engine.failing["status"] = AutopoiesisError("git is missing", cure="install it")
    async with run() as driven:
        assert "git is missing; install it" in driven.text
        assert "Can you review" in driven.text and "investigate-cache" in driven.text


async def test_the_same_trouble_is_told_once(run: Run, engine: FakeEngine) -> None:
    engine.failing["ledger"] = AutopoiesisError("the ledger is locked")
    async with run() as driven:
        driven.engine.publish(FileChanged(NOW, "knowledge/ledger.json", "changed"))
        await driven.settle()
        assert driven.text.count("the ledger is locked") == 1


async def test_the_engine_is_started_and_let_go(run: Run, engine: FakeEngine) -> None:
    async with run() as driven:
        assert driven.bench.is_mounted
        assert (engine.started, len(engine.handlers)) == (True, 1)
    assert [engine.started, len(engine.handlers)] == [False, 0]


async def test_a_question_is_answered_once_from_any_panel(run: Run) -> None:
    async with run() as driven:
        driven.engine.publish(ASKED, replace(ASKED, question_id="q2", topic="deploy"))
        await driven.settle()
        assert "does code-style apply to “Is this tidy?”?" in driven.text
        assert "30 s · 1 more wait" in driven.text
        await driven.press("3", "y")
        assert "does deploy apply" in driven.text
        await driven.press("n")
        assert driven.engine.asked("answer") == [("answer", "q1", True), ("answer", "q2", False)]
        assert "the gate asks" not in driven.text


async def test_a_key_that_was_meant_for_something_else_is_no_answer(run: Run) -> None:
    async with run(grace_s=0.4) as driven:
        driven.engine.publish(ASKED)
        await driven.settle()
        await driven.press("y")
        assert not driven.engine.asked("answer")


async def test_a_question_settled_elsewhere_goes_away(run: Run) -> None:
    async with run() as driven:
        driven.engine.publish(ASKED)
        await driven.settle()
        driven.engine.publish(GateClosed("q1", "failed"))
        await driven.settle()
        assert "the gate asks" not in driven.text


async def test_a_question_counts_down_and_ends(run: Run) -> None:
    async with run() as driven:
        now = [NOW]
        driven.bench.questions = Questions(
            driven.bench,
            Clock(lambda: now[0], lambda: 0.0, 0.0),
            driven.bench.conductor.answer,
            driven.bench.lay_out,
        )
        driven.engine.publish(ASKED)
        await driven.settle()
        now[0] = NOW + timedelta(seconds=18)
        driven.bench.questions._tick()
        await driven.settle()
        assert "12 s" in driven.text
        now[0] = NOW + timedelta(seconds=31)
        driven.bench.questions._tick()
        await driven.settle()
        assert "the gate asks" not in driven.text
        assert not driven.engine.asked("answer")


async def test_typing_goes_on_while_a_question_is_open(run: Run) -> None:
    async with run() as driven:
        await driven.press("i")
        driven.engine.publish(ASKED)
        await driven.settle()
        await driven.type("yn")
        assert driven.bench.prompt.input.value == "yn"
        assert not driven.engine.asked("answer")
