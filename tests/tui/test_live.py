"""Events while the workbench is open: bursts, questions, progress and errors."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from textual.app import App

from engine.context.views import DigestView, LedgerView
from engine.errors import AutopoiesisError
from engine.events import (
    Committed,
    ErrorReported,
    FileChanged,
    GateAsked,
    GateClosed,
    Indexed,
    IndexProgress,
    PromptCompiled,
    TopicsReloaded,
    TurnArrived,
    TurnTraced,
    WatchState,
)
from engine.live.feed import FeedEntry
from engine.transcripts.turn import Text, Turn
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, review_compiled, review_trace, status_view
from tui.kit.questions import Clock, Questions

ASKED = GateAsked(NOW, "q1", "code-style", "Is this tidy?", "House rules for code", 30.0)


def turn(number: int) -> TurnArrived:
    """A newly arrived turn."""
    content = Turn("user", "18:47", (Text(f"turn {number}"),))
    return TurnArrived(NOW, f"t#{number}", "t", "ses", content)


async def test_changes_are_read_once_and_shown(run: Run) -> None:
    async with run((200, 60)) as driven:
        engine, bench = driven.engine, driven.bench
        step = "a burst causes one read"
        engine.calls.clear()
        engine.publish(*(turn(number) for number in range(500)))
        engine.entries = [*engine.entries, FeedEntry(NOW, "user", "turn 499", "", "t#499")]
        await driven.settle()
        assert len(engine.calls_of("feed")) == 1, step
        assert not engine.calls_of("ledger"), step
        assert "turn 499" in driven.text, step

        step = "events arrive from any thread"
        engine.calls.clear()
        threads = [threading.Thread(target=engine.publish, args=(turn(number),)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        await driven.settle()
        assert 1 <= len(engine.calls_of("feed")) <= 2, step

        step = "a new trace of the selected message is fetched"
        key = bench.shown.key
        engine.calls.clear()
        engine.traces[key] = replace(review_trace(), rows=review_trace().rows[:1])
        engine.publish(TurnTraced("other#1", review_trace()), TurnTraced(key, review_trace()))
        await driven.settle()
        assert [call[1] for call in engine.calls_of("trace_of")] == [key], step
        assert bench.activation.row_count == 1, step

        step = "a new prompt changes the gauge"
        engine.compiled = smaller = replace(review_compiled(), tokens=1234)
        engine.publish(PromptCompiled(key, smaller))
        await driven.settle()
        assert "1,234/8,192" in driven.lines[0], step

        step = "a changed setting or preset changes the gauge"
        for tokens, path in ((2345, "memory-config.yaml"), (3456, "presets/active")):
            engine.compiled = replace(review_compiled(), tokens=tokens)
            engine.publish(FileChanged(NOW, path, "changed"))
            await driven.settle()
            assert f"{tokens:,}/8,192" in driven.lines[0], step

        step = "new search results appear in the shown prompt"
        engine.calls.clear()
        engine.compiled = replace(review_compiled(), tokens=4321)
        engine.publish(Indexed(3))
        await driven.settle()
        assert ("compile_of", key) in engine.calls, step
        assert "4,321" in driven.lines[0], step

        step = "the ledger is read when its file changes"
        engine.ledger_view = LedgerView(())
        engine.publish(FileChanged(NOW, "knowledge/ledger.json", "changed"))
        await driven.settle()
        assert "nothing harvested yet" in driven.text, step

        step = "the digest is turned off"
        assert "3.1/4.0 KB · on" in driven.text, step
        engine.digest_view = DigestView(False, 0, 4096, "")
        engine.publish(FileChanged(NOW, "knowledge/digest.md", "removed"))
        await driven.settle()
        assert "off: knowledge/digest.md" in driven.text, step

        reloaded, committed = TopicsReloaded(NOW, ("deploy",), 43, ()), Committed(NOW, "abc", "x")
        events: dict[str, TopicsReloaded | Committed] = {"one": reloaded, "two": committed}
        for branch, event in events.items():
            step = f"the status follows: {event}"
            engine.status_value = status_view(branch=branch, topics=43)
            engine.publish(event)
            await driven.settle()
            assert f"git {branch}" in driven.lines[0], step

        step = "a failing watch is shown"
        engine.status_value = status_view(watch_mode="polling", watch_why="too many folders")
        engine.publish(WatchState("polling", "too many folders"))
        await driven.settle()
        assert "◐ polling" in driven.lines[0] and "too many folders" in driven.lines[0], step

        step = "indexing progress is shown and disappears"
        engine.publish(IndexProgress(120, 1204))
        await driven.settle()
        assert "indexing 120/1,204" in driven.lines[0], step
        engine.publish(IndexProgress(1204, 1204))
        await driven.settle()
        assert "indexing" not in driven.lines[0], step

        step = "errors are reported"
        engine.publish(ErrorReported(NOW, "the index is broken; it is built again"))
        await driven.settle()
        assert "the index is broken; it is built again" in driven.text, step

        step = "the index does not affect a message being typed"
        await driven.press("i", *"hello", "enter")
        engine.calls.clear()
        engine.publish(Indexed(3))
        await driven.settle()
        assert not [call for call in engine.calls if call[0] in ("compile_of", "try_message")], step


async def test_nothing_is_drawn_while_nothing_changes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async with run() as driven:
        await driven.press("i")
        await driven.pilot.pause()
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
        await driven.pilot.pause()
        assert not drawn


async def test_an_unreadable_engine_is_reported_once(run: Run, engine: FakeEngine) -> None:
    engine.failing["status"] = AutopoiesisError("git is missing", hint="install it")
    engine.failing["ledger"] = AutopoiesisError("the ledger is locked")
    async with run() as driven:
        assert "git is missing; install it" in driven.text
        assert "Can you review" in driven.text and "Re-index after the schema" in driven.text
        driven.engine.publish(FileChanged(NOW, "knowledge/ledger.json", "changed"))
        await driven.settle()
        assert driven.text.count("the ledger is locked") == 1


async def test_the_engine_is_started_and_stopped(run: Run, engine: FakeEngine) -> None:
    async with run() as driven:
        assert driven.bench.is_mounted
        assert (engine.started, len(engine.handlers)) == (True, 1)
    assert [engine.started, len(engine.handlers)] == [False, 0]


async def test_questions_are_asked_answered_and_time_out(run: Run) -> None:
    async with run() as driven:
        engine, bench = driven.engine, driven.bench
        step = "a question is answered once, from any panel"
        engine.publish(ASKED, replace(ASKED, question_id="q2", topic="deploy"))
        await driven.settle()
        assert "does code-style apply to “Is this tidy?”?" in driven.text, step
        assert "30 s · 1 more pending" in driven.text, step
        await driven.press("3", "y")
        assert "does deploy apply" in driven.text, step
        await driven.press("n")
        assert engine.calls_of("answer") == [("answer", "q1", True), ("answer", "q2", False)], step
        assert "the gate asks" not in driven.text, step

        step = "a letter with a meaning here does not answer a question"
        engine.calls.clear()
        await driven.press("2")
        engine.publish(ASKED)
        await driven.settle()
        assert "ctrl+y yes" in driven.text, step
        await driven.press("n")
        assert engine.calls_of("label") and not engine.calls_of("answer"), step
        await driven.press("ctrl+n")
        assert engine.calls_of("answer") == [("answer", ASKED.question_id, False)], step

        step = "a question answered elsewhere disappears"
        engine.calls.clear()
        engine.publish(ASKED)
        await driven.settle()
        assert "the gate asks" in driven.text, step
        engine.publish(GateClosed("q1", "failed"))
        await driven.settle()
        assert "the gate asks" not in driven.text, step

        step = "typing continues while a question is open"
        await driven.press("i")
        engine.publish(ASKED)
        await driven.settle()
        await driven.type("yn")
        assert bench.prompt.input.value == "yn", step
        await driven.press("escape")
        engine.publish(GateClosed("q1", "failed"))
        await driven.settle()

        step = "it counts down and ends"
        now = [NOW]
        clock = Clock(lambda: now[0], lambda: 0.0, 0.0)
        bench.questions = Questions(bench, clock, bench.conductor.answer, bench.lay_out)
        engine.publish(ASKED)
        await driven.settle()
        now[0] = NOW + timedelta(seconds=18)
        bench.questions._tick()
        await driven.settle()
        assert "12 s" in driven.text, step
        now[0] = NOW + timedelta(seconds=31)
        bench.questions._tick()
        await driven.settle()
        assert "the gate asks" not in driven.text, step
        assert not engine.calls_of("answer"), step


async def test_a_key_pressed_within_the_grace_period_is_not_an_answer(run: Run) -> None:
    async with run(grace_s=0.4) as driven:
        driven.engine.publish(ASKED)
        await driven.settle()
        await driven.press("y")
        assert not driven.engine.calls_of("answer")

        step = "nor does one that comes just after the question has closed label a topic"
        await driven.press("2")
        driven.engine.publish(GateClosed(ASKED.question_id, "failed"))
        await driven.settle()
        await driven.press("y")
        assert "has just closed" in driven.text, step
        assert not driven.engine.calls_of("label"), step
