"""Replaying a transcript."""

from __future__ import annotations

import threading

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.format import parse
from engine.transcripts.replay import human_pace, replay
from engine.transcripts.tail import Tail
from engine.transcripts.turn import Text, ToolCall, Transcript, Turn
from tests.transcripts.conftest import Clock, Pause

SOURCE = Transcript(
    path="raw/conversations/x.md",
    session_id="ses_1",
    started="2025-01-01T09:00:00Z",
    ended="2025-01-01T10:00:00Z",
    title="A talk",
    header={"session_id": "ses_1", "ended": "2025-01-01T10:00:00Z", "model": "m", "imported_from": "x"},
    turns=(
        Turn("user", "09:00", (Text("hello\n## 10:00 — user"),)),
        Turn("agent", "09:01", (ToolCall("sh", "ls", "3 files"), Text("three"))),
        Turn("user", "09:30", (Text("bye"),)),
    ),
)
TARGET = "conversations/demo.md"


def test_turns_are_replayed_one_by_one_at_the_given_pace(
    files: Files, clock: Clock, workspace: Workspace
) -> None:
    tail = Tail(workspace.root / TARGET)
    heard: list[tuple[float, list[Turn]]] = []

    def sleep(seconds: float) -> None:
        heard.append((seconds, [tail.turns[number] for number in tail.read_new()]))
        clock.advance(seconds / 60)

    def pace(turn: Turn) -> float:
        return 60.0 * len(turn.blocks)

    assert replay(files, SOURCE, TARGET, Pause(sleep), pace=pace, clock=clock) == 3
    played = parse(files.read(TARGET), TARGET)
    assert [turn.time for turn in played.turns] == ["18:46", "18:48", "18:49"]
    assert [turn.blocks for turn in played.turns] == [turn.blocks for turn in SOURCE.turns]
    assert heard == [(60.0, []), (120.0, [played.turns[0]]), (60.0, [played.turns[1]])]


def test_a_replay_is_a_separate_session(files: Files, clock: Clock) -> None:
    replay(files, SOURCE, TARGET, Pause(), pace=human_pace(), clock=clock)
    played = parse(files.read(TARGET), TARGET)
    assert played.title == "A talk"
    assert played.header == {
        "session_id": "ses_1.replay",
        "started": "2026-02-16T18:45:00Z",
        "channel": "replay",
        "model": "m",
    }


def test_replaying_again_starts_over(files: Files, clock: Clock) -> None:
    replay(files, SOURCE, TARGET, Pause(), pace=human_pace(), clock=clock)
    first = files.read(TARGET)
    replay(files, SOURCE, TARGET, Pause(), pace=human_pace(), clock=clock)
    assert files.read(TARGET) == first


def test_a_replay_can_be_stopped(files: Files, clock: Clock) -> None:
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            stop.set()

    stop = Pause(sleep)
    assert replay(files, SOURCE, TARGET, stop, pace=human_pace(), clock=clock) == 1
    assert len(parse(files.read(TARGET), TARGET).turns) == 1


def test_stopping_interrupts_the_wait(files: Files) -> None:
    stop = threading.Event()
    stop.set()
    assert replay(files, SOURCE, TARGET, stop, pace=lambda turn: 3600.0) == 0


def test_the_human_pace_depends_on_the_text() -> None:
    short, long, busy = (
        Turn("user", "", (Text("hi"),)),
        Turn("user", "", (Text("word " * 50),)),
        Turn("agent", "", (ToolCall("a", "b"),) * 5),
    )
    pace = human_pace()
    assert 0 < pace(short) < pace(long) < 10
    assert pace(busy) > pace(short)
    assert human_pace(4)(long) == pytest.approx(pace(long) / 4)
    with pytest.raises(ValueError, match="positive"):
        human_pace(0)
