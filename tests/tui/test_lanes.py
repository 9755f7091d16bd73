"""Background work: lanes and the event bridge."""

from __future__ import annotations

import threading

from engine.errors import AutopoiesisError
from engine.events import (
    ErrorReported,
    FileChanged,
    GateAsked,
    GateClosed,
    Indexed,
    IndexProgress,
    PromptCompiled,
    WatchState,
)
from tests.tui.fake_engine import NOW, review_compiled
from tui.kit.lanes import Lane, Writes
from tui.kit.messages import EventBridge, condense


class Worker:
    """Work that blocks until released; records its requests, answers and errors."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.started = threading.Event()
        self.asked: list[str] = []
        self.delivered: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str]] = []

    def work(self, question: str) -> str:
        """Waits for ``go``, then answers or fails."""
        self.asked.append(question)
        self.started.set()
        assert self.go.wait(60)
        if question == "bad":
            raise AutopoiesisError("refused")
        if question == "worse":
            raise RuntimeError("unforeseen")
        return question.upper()

    def lane(self, *, merging: bool = False, in_turn: bool = False) -> Lane[str, str]:
        """A lane for this work."""
        return Lane(
            self.work,
            lambda question, answer: self.delivered.append((question, answer)),
            lambda question, error: self.refused.append((question, error)),
            merge=(lambda waiting, new: f"{waiting}+{new}") if merging else None,
            in_turn=in_turn,
        )


def finish(lane: Lane[str, str]) -> None:
    """Waits until the lane is idle and its thread has ended, which reports an unexpected error last."""
    assert lane._thread is not None
    lane._thread.join(60)
    assert not lane.busy


def test_newest_request_wins_and_replaced_ones_are_not_delivered() -> None:
    worker = Worker()
    lane = worker.lane()
    lane.ask("a")
    assert worker.started.wait(60)
    for question in "bcd":
        lane.ask(question)
    worker.go.set()
    finish(lane)
    assert worker.asked == ["a", "d"]
    assert worker.delivered == [("d", "D")]


def test_merged_requests_are_all_processed() -> None:
    worker = Worker()
    lane = worker.lane(merging=True)
    lane.ask("a")
    assert worker.started.wait(60)
    for question in "bcd":
        lane.ask(question)
    worker.go.set()
    finish(lane)
    assert worker.delivered == [("a", "A"), ("b+c+d", "B+C+D")]


def test_requests_in_turn_are_all_processed_despite_errors() -> None:
    worker = Worker()
    lane = worker.lane(in_turn=True)
    lane.ask("a")
    assert worker.started.wait(60)
    for question in ("b", "bad", "c"):
        lane.ask(question)
    worker.go.set()
    finish(lane)
    assert worker.delivered == [("a", "A"), ("b", "B"), ("c", "C")]
    assert worker.refused == [("bad", "refused")]


def test_engine_errors_are_passed_on() -> None:
    worker = Worker()
    worker.go.set()
    lane = worker.lane()
    lane.ask("bad")
    finish(lane)
    assert worker.refused == [("bad", "refused")] and not worker.delivered


def test_unexpected_errors_are_passed_on_too_and_the_requests_behind_are_processed() -> None:
    worker = Worker()
    lane = worker.lane(in_turn=True)
    lane.ask("worse")
    assert worker.started.wait(60)
    lane.ask("next")
    worker.go.set()
    finish(lane)
    assert worker.refused == [("worse", "RuntimeError: unforeseen")]
    assert worker.delivered == [("next", "NEXT")]


def test_stop_drops_waiting_requests() -> None:
    worker = Worker()
    lane = worker.lane()
    lane.ask("a")
    assert worker.started.wait(60)
    lane.ask("b")
    lane.stop(0.0)
    worker.go.set()
    finish(lane)
    assert worker.asked == ["a"]


def test_events_are_summarised() -> None:
    asked = GateAsked(NOW, "q1", "t", "m", "d", 5.0)
    burst = condense(
        [
            FileChanged(NOW, "knowledge/digest.md", "changed"),
            FileChanged(NOW, "notes.md", "added"),
            PromptCompiled("a#1", review_compiled()),
            PromptCompiled("", review_compiled()),
            asked,
            GateAsked(NOW, "q2", "t", "m", "d", 5.0),
            GateClosed("q2", "yes"),
            IndexProgress(1, 10),
            IndexProgress(7, 10),
            ErrorReported(NOW, "broken"),
            WatchState("live"),
        ]
    )
    assert burst.parts == {"feed", "digest", "status"}
    assert burst.keys == {"a#1"}
    assert burst.asked == [asked] and burst.closed == {"q2"}
    assert burst.progress == IndexProgress(7, 10) and not burst.indexed
    assert condense([Indexed(2)]).indexed
    assert burst.errors == ["broken"]


def test_ring_is_called_once_per_burst() -> None:
    rings: list[int] = []
    bridge = EventBridge(lambda: rings.append(1))
    for _event in range(100):
        bridge.handle(WatchState("live"))
    assert len(rings) == 1
    assert bridge.take().parts == {"status"}
    assert bridge.take().parts == frozenset()
    bridge.handle(WatchState("off"))
    assert len(rings) == 2


def test_writes_of_closed_screens_are_waited_for() -> None:
    worker, writes = Worker(), Writes()
    lane, idle = worker.lane(in_turn=True), worker.lane()
    for question in ("a", "b", "bad"):
        lane.ask(question)
    assert worker.started.wait(60)
    writes.leave([lane, idle])
    writes.failed("the disk is full")
    assert writes.finish(0.0) == ["the disk is full", "3 changes could not be written in time"]
    worker.go.set()
    assert writes.finish(60.0) == ["the disk is full"]
    assert [question for question, _answer in worker.delivered] == ["a", "b"]
