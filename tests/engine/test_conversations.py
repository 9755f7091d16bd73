"""The times of turns, and the messages passed to activation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.conversations.conversations import (
    WINDOW,
    Conversation,
    Conversations,
    TurnKey,
    is_conversation,
    tool_paths,
)
from engine.errors import TranscriptError
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.days import following
from engine.transcripts.turn import Text, ToolCall, Turn
from tests.cases import each_case


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@each_case(
    ("moment", "clock", "expected"),
    [
        ("2026-06-12T18:45:30", "18:45", "2026-06-12T18:45:30"),
        ("2026-06-12T18:45:30", "18:46", "2026-06-12T18:46:00"),
        ("2026-06-12T23:58:00", "00:03", "2026-06-13T00:03:00"),
        ("2026-06-12T18:45:00", "18:40", "2026-06-12T18:45:00"),
        ("2026-06-12T18:45:00", "9:05", "2026-06-12T18:45:00"),
        ("2026-06-12T18:45:00", "", "2026-06-12T18:45:00"),
        ("2026-06-12T18:45:00", "25:99", "2026-06-12T18:45:00"),
    ],
)
def test_times_only_go_forward(moment: str, clock: str, expected: str) -> None:
    assert following(at(moment), clock) == at(expected)


def times_of(started: datetime, turns: tuple[Turn, ...]) -> list[datetime]:
    found = []
    for turn in turns:
        started = following(started, turn.time)
        found.append(started)
    return found


def talk(turns: tuple[Turn, ...], started: str, *, session_id: str = "", first: int = 0) -> Conversation:
    times = tuple(times_of(at(started), turns))
    return Conversation("conversations/x.md", session_id, at(started), turns, times, first)


def test_times_cross_midnight_and_never_go_backwards() -> None:
    turns = tuple(Turn("user", clock) for clock in ("22:10", "23:59", "00:01", "00:00", "13:00"))
    times = times_of(at("2026-06-12T22:00:00"), turns)
    assert times == sorted(times)
    assert times[2] == at("2026-06-13T00:01:00")


def test_a_message_includes_the_files_in_use() -> None:
    reads = Turn("agent", "10:01", (ToolCall("read", "src/ingest/parser.py"), ToolCall("exec", "pytest -q")))
    turns = (
        Turn("user", "10:00", (Text("Look at it"),)),
        reads,
        Turn("user", "10:02", (Text("And now?"),)),
        Turn("system", "10:03", (Text("restarted"),)),
    )
    conversation = talk(turns, "2026-06-12T10:00:00", session_id="ses_1")
    asked = conversation.message(2)
    assert asked is not None and asked.at == at("2026-06-12T10:02:00")
    assert asked.paths == ("src/ingest/parser.py",) and asked.direction == "input"
    first = conversation.message(0)
    assert first is not None and first.paths == ()
    answered = conversation.message(1)
    assert answered is not None and answered.direction == "output" and answered.session_id == "ses_1"
    assert conversation.message(3) is None


def test_tool_paths_are_unique_and_words_are_not_paths() -> None:
    turn = Turn("agent", "10:00", (ToolCall("exec", "git diff src/a.py docs/b.md and src/a.py, or not"),))
    assert tool_paths([turn]) == ("src/a.py", "docs/b.md")


def test_turn_keys_are_parsed() -> None:
    assert TurnKey.of("raw/conversations/a#b.md#12") == TurnKey("raw/conversations/a#b.md", 12)
    assert str(TurnKey("conversations/x.md", 3)) == "conversations/x.md#3"
    for nonsense in ("", "x.md", "#3", "x.md#", "x.md#-1", "signal:cron:0 22 * * *@2026"):
        assert TurnKey.of(nonsense) is None


@each_case(
    ("path", "expected"),
    [
        ("raw/conversations/2026/06/12/1845-ses_1-x.md", True),
        ("conversations/notes.txt", True),
        ("conversations/log.jsonl", True),
        ("conversations/.tmp-x.md", False),
        ("conversations/picture.png", False),
        ("knowledge/facts.md", False),
    ],
)
def test_conversations_are_recognized_by_path(path: str, expected: bool) -> None:
    assert is_conversation(path) is expected


def test_reading_is_incremental_and_notices_deletions(sample: Path) -> None:
    workspace = Workspace.open(sample)
    conversations = Conversations(workspace, Files(workspace))
    path = sample / "conversations" / "talk.md"
    path.write_text("## 10:00 — user\nOne\n\n## 10:01 — agent\nTwo\n")
    first = conversations.read("conversations/talk.md")
    assert first is not None and [turn.text for turn in first.turns] == ["One", "Two"]
    with path.open("a") as file:
        file.write("\nand more\n\n## 10:02 — user\nThree\n")
    second = conversations.read("conversations/talk.md")
    assert second is not None and [turn.text for turn in second.turns] == ["One", "Two\n\nand more", "Three"]
    path.unlink()
    assert conversations.read("conversations/talk.md") is None
    assert conversations.read("../outside.md") is None


def test_an_edit_further_up_changes_only_that_turn(sample: Path) -> None:
    conversations = Conversations(Workspace.open(sample), Files(Workspace.open(sample)))
    path = "conversations/talk.md"
    lines = [f"## 10:0{number} — user\n\nLine {number}.\n" for number in range(5)]
    (sample / path).write_text("\n".join(lines))
    assert conversations.read(path) is not None
    lines[1] = "## 10:01 — user\n\nAnother line, and longer.\n"
    (sample / path).write_text("\n".join(lines))
    found = conversations.read(path)
    assert found is not None
    assert [turn.text for turn in found.turns] == [
        "Line 0.", "Another line, and longer.", "Line 2.", "Line 3.", "Line 4.",
    ]  # fmt: skip
    assert len(found.times) == 5

    with (sample / path).open("r+") as file:
        file.truncate(len("\n".join(lines[:2])))
    cut = conversations.read(path)
    assert cut is not None and (len(cut.turns), len(cut.times), cut.end) == (2, 2, 2)
    (sample / path).write_text("\n".join(lines))
    whole = conversations.read(path)
    assert whole is not None and whole.turns == found.turns


def test_a_conversation_without_a_date_is_dated_by_its_modification_time(sample: Path) -> None:
    import os

    workspace = Workspace.open(sample)
    path = sample / "conversations" / "plain.md"
    path.write_text("## 22:00 — user\nLate\n\n## 00:10 — agent\nLater\n")
    written = at("2026-06-10T00:12:00")
    os.utime(path, (written.timestamp(), written.timestamp()))
    conversation = Conversations(workspace, Files(workspace)).read("conversations/plain.md")
    assert conversation is not None
    assert list(conversation.times) == [at("2026-06-09T22:00:00"), at("2026-06-10T00:10:00")]
    assert conversation.times[-1] <= written + timedelta(minutes=1)


@pytest.mark.parametrize("header", ["ended: 2026-02-03T12:00:00Z\n", ""])
def test_the_newest_conversations_are_those_with_the_newest_turns(sample: Path, header: str) -> None:
    """A session of February that was imported or cloned today is not newer than the conversation of today."""
    import os

    workspace = Workspace.open(sample)
    now = datetime.now(UTC)
    today = f"raw/conversations/{now:%Y/%m/%d}/{now:%H%M}-ses_today-now.md"
    for number, path in enumerate(
        [today, *(f"raw/conversations/2026/02/03/1{n}00-ses_{n}-x.md" for n in range(9))]
    ):
        started = f"{now:%Y-%m-%dT%H:%M:00Z}" if path == today else "2026-02-03T11:00:00Z"
        file = sample / path
        file.parent.mkdir(parents=True, exist_ok=True)
        ended = "" if path == today else header
        file.write_text(
            f"---\nsession_id: s{number}\nstarted: {started}\n{ended}---\n\n## 11:00 — user\nHello\n"
        )
        os.utime(file, (now.timestamp() + number,) * 2)
    conversations = Conversations(workspace, Files(workspace))
    assert conversations.newest(1) == [today]
    assert all("/2026/02/03/" in path for path in conversations.newest(1_000)[-9:])


def test_a_missing_session_is_an_error(sample: Path) -> None:
    workspace = Workspace.open(sample)
    conversations = Conversations(workspace, Files(workspace))
    for name in ("ses_nobody", "../../etc/passwd", ""):
        with pytest.raises(TranscriptError, match="no such session"):
            conversations.of_session(name)


def test_only_the_end_of_a_very_long_conversation_is_read_with_correct_ordinals(sample: Path) -> None:
    workspace = Workspace.open(sample)
    path = sample / "conversations" / "long.md"
    filler = "the gauge and the tide " * 20
    count = 12_000
    with path.open("w") as file:
        file.writelines(f"## {n % 24:02d}:00 — user\n{n} {filler}\n\n" for n in range(count))
    assert path.stat().st_size > WINDOW
    conversations = Conversations(workspace, Files(workspace))
    conversation = conversations.read("conversations/long.md")
    assert conversation is not None and conversation.end == count and 0 < conversation.first < count
    for ordinal in (conversation.first, count - 1):
        turn = conversation.turn(ordinal)
        assert turn is not None and turn.text.startswith(f"{ordinal} ")
    assert conversation.turn(conversation.first - 1) is None and conversation.turn(count) is None
    assert len(conversation.before(count - 1)) == count - 1 - conversation.first

    with path.open("a") as file:
        file.write("## 23:59 — agent\nlast\n")
    grown = conversations.read("conversations/long.md")
    assert grown is not None and (grown.first, grown.end) == (conversation.first, count + 1)
    last = grown.turn(count)
    assert last is not None and last.text == "last"

    path.write_text("## 10:00 — user\nnew\n")
    anew = conversations.read("conversations/long.md")
    assert anew is not None and (anew.first, [turn.text for turn in anew.turns]) == (0, ["new"])
