"""The date of a turn is written where it changes, and read back exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engine.conversations.conversations import WINDOW, Conversations
from engine.search import chunks
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.days import day_to_write, following
from engine.transcripts.format import parse, render_turn
from engine.transcripts.importers.run import import_file
from engine.transcripts.replay import replay
from engine.transcripts.turn import Text, Turn
from tests.cases import each_case
from tests.transcripts.conftest import Pause
from tests.transcripts.logs import SESSION, ClaudeCode, dump

START = datetime(2026, 2, 16, 18, 0, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("## ")]


@each_case(
    "heading",
    [
        "## 2026-02-17 00:05 — user",
        "## 2026-02-17 23:05 — agent [plan]",
        "## 2026-02-17 — system",
        "## 09:05 — user [correction]",
    ],
)
def test_a_heading_is_read_and_written_unchanged(heading: str) -> None:
    (turn,) = parse(f"{heading}\nhi\n".encode(), "t.md").turns
    assert render_turn(turn) == f"{heading}\nhi\n"
    assert turn.day == ("2026-02-17" if "2026" in heading else "")


def test_a_heading_with_an_invalid_date_is_not_a_heading() -> None:
    for line in ("## 2026-13-01 10:00 — user", "## 26-01-01 10:00 — user", "## 2026-02-17, 10:00 — user"):
        assert [turn.role for turn in parse(f"## 09:00 — agent\n\n{line}\n".encode(), "t.md").turns] == [
            "agent"
        ]


@each_case(
    ("kind", "is_dialogue"),
    [
        ("", True),
        ("correction", True),
        ("answer", True),
        ("command", True),
        ("plan", True),
        ("memory", False),
        ("summary", False),
        ("error", False),
        ("local", False),
        ("anything", False),
    ],
)
def test_some_kinds_of_turn_are_dialogue(kind: str, is_dialogue: bool) -> None:
    assert Turn("user", "10:00", kind=kind).is_dialogue is is_dialogue


@given(st.lists(st.integers(-3 * 24 * 60, 3 * 24 * 60), max_size=8))
def test_dates_survive_any_gap_and_any_clock(gaps: list[int]) -> None:
    at = read = START
    for gap in gaps:
        at += timedelta(minutes=gap)
        day = day_to_write(at, read)
        read = following(read, f"{at:%H:%M}", day)
        assert read.date() == at.date()


def test_a_session_captured_over_midnight_has_both_dates(workspace: Workspace, files: Files) -> None:
    clock = Clock()
    capture = ConversationCapture(files, clock=clock)
    path = capture.start("s")
    for role, after in (
        ("user", 1),
        ("agent", 2),
        ("user", 6 * 60),
        ("agent", 6 * 60 + 1),
        ("user", 60 * 60),
    ):
        clock.now = START + timedelta(minutes=after)
        capture.message("s", "user" if role == "user" else "agent", f"said {after}")
    clock.now += timedelta(minutes=1)
    capture.tool_call("s", "Bash", "ls")
    assert headings((workspace.root / path).read_text()) == [
        "## 18:01 — user",
        "## 18:02 — agent",
        "## 2026-02-17 00:00 — user",
        "## 00:01 — agent",
        "## 2026-02-19 06:00 — user",
        "## 06:01 — agent",
    ]


def test_a_dated_heading_in_code_is_ignored(workspace: Workspace, files: Files) -> None:
    clock = Clock()
    capture = ConversationCapture(files, clock=clock)
    path = capture.start("s")
    capture.message("s", "user", "```\n## 2026-02-17 10:00 — user\n```")
    clock.now = START + timedelta(days=1)
    capture.message("s", "agent", "hi")
    assert "## 2026-02-17 18:00 — agent" in (workspace.root / path).read_text()


def test_an_imported_session_keeps_its_dates(workspace: Workspace, files: Files, tmp_path: Path) -> None:
    log = ClaudeCode()
    stamps = ("2026-02-16T23:50:00Z", "2026-02-17T11:00:00Z", "2026-02-18T10:00:00Z", "2026-02-21T10:30:00Z")
    records = []
    for number, stamp in enumerate(stamps):
        block = {"type": "text", "text": f"said {number}"}
        record = log.user([block]) if number % 2 == 0 else log.reply(block)
        records.append({**record, "timestamp": stamp})
    source = tmp_path / f"{SESSION}.jsonl"
    # In two steps: the second starts at the last turn and needs the date before it.
    for known in (3, 4):
        source.write_bytes(dump(*records[:known]))
        target = import_file("claude-code", source, workspace, files).target
    text = (workspace.root / target).read_text()
    assert headings(text) == [
        "## 23:50 — user",
        "## 2026-02-17 11:00 — agent",
        "## 2026-02-18 10:00 — user",
        "## 2026-02-21 10:30 — agent",
    ]
    conversation = Conversations(workspace, files).read(target)
    assert conversation is not None
    assert [f"{at:%Y-%m-%dT%H:%M}" for at in conversation.times] == [stamp[:16] for stamp in stamps]
    pieces = chunks.split(text.encode(), target, "conversation").pieces
    assert [piece.chunk.date for piece in pieces] == [stamp[:10] for stamp in stamps]


def test_the_end_of_a_very_long_conversation_has_its_date(workspace: Workspace, files: Files) -> None:
    path = "raw/conversations/2026/02/16/1800-long.md"
    turn = Turn("agent", "10:00", (Text("x" * 1024),))
    count = WINDOW // 1024 + 64
    text = "---\nsession_id: long\nstarted: 2026-02-16T18:00:00Z\n---\n"
    text += f"\n{render_turn(Turn('user', '10:00', (Text('hi'),), day='2026-02-18'))}"
    files.replace(path, (text + f"\n{render_turn(turn)}" * count).encode())
    conversation = Conversations(workspace, files).read(path)
    assert conversation is not None
    assert conversation.first > 0
    assert {f"{at:%Y-%m-%d}" for at in conversation.times} == {"2026-02-18"}


def test_a_replay_over_midnight_has_both_dates(workspace: Workspace, files: Files) -> None:
    clock = Clock()

    def pass_time(seconds: float) -> None:
        clock.now += timedelta(hours=4)

    source = parse(b"## 2020-01-01 10:00 \xe2\x80\x94 user\nhi\n\n## 10:01 \xe2\x80\x94 agent\nho\n", "s.md")
    replay(files, source, "conversations/demo.md", Pause(pass_time), pace=lambda turn: 1.0, clock=clock)
    text = (workspace.root / "conversations/demo.md").read_text()
    assert headings(text) == ["## 22:00 — user", "## 2026-02-17 02:00 — agent"]
