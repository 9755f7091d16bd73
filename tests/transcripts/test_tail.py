"""Following a conversation while it is written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.store.documents import edit_header
from engine.transcripts.format import parse, render_turn
from engine.transcripts.tail import Tail
from engine.transcripts.turn import Text, ToolCall, Turn
from tests.transcripts.strategies import turns

HEADER = b"---\nsession_id: a\nstarted: 2026-02-16T18:45:00Z\n---\n\n# T\n"


class Now:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def user(text: str, time: str = "10:00") -> bytes:
    return f"\n## {time} — user\n{text}\n".encode()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def news(tail: Tail) -> list[tuple[int, Turn]]:
    return [(ordinal, tail.turns[ordinal]) for ordinal in tail.read_new()]


def new_texts(tail: Tail) -> list[tuple[int, str]]:
    return [(ordinal, turn.text) for ordinal, turn in news(tail)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.md"


def test_each_turn_is_returned_once(path: Path) -> None:
    tail = Tail(path)
    assert tail.read_new() == []
    path.write_bytes(HEADER + user("one"))
    assert new_texts(tail) == [(0, "one")]
    assert tail.read_new() == []
    append(path, user("two") + user("three"))
    assert new_texts(tail) == [(1, "two"), (2, "three")]


@pytest.mark.parametrize(
    ("name", "chat"),
    [
        ("c.md", b"_**User (2026-01-16 15:23:32Z)**_\n\none\n\n---\n\n_**Agent (m)**_\n\ntwo\n\n---\n"),
        ("c.txt", b"**You:** one\n\n**Claude:** two\n"),
        ("c.jsonl", b'{"role": "user", "content": "one"}\n{"role": "assistant", "content": "two"}\n'),
    ],
)
def test_a_chat_of_another_program_is_followed(tmp_path: Path, name: str, chat: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(chat)
    os.utime(path, (0, 0))
    tail = Tail(path)
    assert [(turn.role, turn.text) for _, turn in news(tail)] == [
        ("user", "one"),
        ("agent", "two"),
    ]
    append(path, chat.replace(b"one", b"three").replace(b"two", b"four"))
    os.utime(path, (9, 9))
    assert [(turn.role, turn.text) for _, turn in news(tail)] == [
        ("user", "three"),
        ("agent", "four"),
    ]


def test_turns_have_their_line_in_the_file(path: Path) -> None:
    path.write_bytes(HEADER + user("one\nmore"))
    tail = Tail(path)
    tail.read_new()
    append(path, user("two") + user("three"))
    lines = path.read_text().split("\n")
    for _, turn in news(tail):
        assert lines[turn.line] == turn.text


def test_a_growing_turn_is_returned_again(path: Path) -> None:
    path.write_bytes(HEADER + "\n## 10:00 — agent\n> [tool:sh] ls\n".encode())
    tail = Tail(path)
    tail.read_new()
    append(path, b"\nDone.\n")
    assert news(tail) == [(0, Turn("agent", "10:00", (ToolCall("sh", "ls"), Text("Done."))))]


def test_partial_lines_and_characters_are_held_back(path: Path) -> None:
    now = Now()
    tail = Tail(path, clock=now)
    whole = "\n## 10:00 — user\nGrüße\n".encode()
    for end in range(1, len(whole) + 1):
        path.write_bytes(HEADER + whole[:end])
        os.utime(path, (0, end))
        now.seconds = end + 0.5
        texts = [text for _, text in new_texts(tail)]
        assert texts in ([], [""], ["Grüße"])
        assert (texts == ["Grüße"]) == (end == len(whole))
        assert tail.waiting == (not whole[:end].endswith(b"\n"))


def test_a_last_line_without_a_newline_is_read_after_a_while(path: Path) -> None:
    now = Now()
    path.write_bytes(HEADER + user("one").rstrip(b"\n"))
    os.utime(path, (100, 100))
    now.seconds = 101
    tail = Tail(path, settle_s=2, clock=now)
    assert new_texts(tail) == [(0, "")]
    now.seconds = 103
    assert new_texts(tail) == [(0, "one")]
    assert not tail.waiting
    assert tail.read_new() == []


def test_a_modification_time_in_the_future_does_not_delay_reading(path: Path) -> None:
    path.write_bytes(HEADER + user("one").rstrip(b"\n"))
    os.utime(path, (10**9, 10**9))
    assert new_texts(Tail(path, clock=Now())) == [(0, "one")]


def test_a_changed_header_gives_no_new_turns(path: Path) -> None:
    path.write_bytes(HEADER + user("one") + user("two"))
    tail = Tail(path)
    tail.read_new()
    other = path.with_name("new")
    other.write_bytes(edit_header(path.read_bytes(), {"ended": "2026-02-16T19:00:00Z", "tags": ["a"]}))
    other.replace(path)
    assert tail.read_new() == []
    append(path, user("three"))
    assert new_texts(tail) == [(2, "three")]


def test_an_edited_earlier_turn_is_returned_again(path: Path) -> None:
    path.write_bytes(HEADER + user("one") + user("two") + user("three"))
    tail = Tail(path)
    tail.read_new()
    other = path.with_name("new")
    other.write_bytes(path.read_bytes().replace(b"two", b"2"))
    other.replace(path)
    assert new_texts(tail) == [(1, "2")]


def test_a_truncated_file_is_followed(path: Path) -> None:
    path.write_bytes(HEADER + user("one") + user("two") + user("three"))
    tail = Tail(path)
    tail.read_new()
    os.truncate(path, len(HEADER + user("one")))
    assert tail.read_new() == []
    append(path, user("four"))
    assert new_texts(tail) == [(1, "four")]


def test_a_replaced_conversation_is_read_from_the_start(path: Path) -> None:
    path.write_bytes(HEADER + user("one") + user("two"))
    tail = Tail(path)
    tail.read_new()
    other = path.with_name("new")
    other.write_bytes(HEADER + user("one"))
    other.replace(path)
    assert new_texts(tail) == [(0, "one")]


def test_a_file_that_disappears_and_returns_is_followed(path: Path) -> None:
    path.write_bytes(HEADER + user("one"))
    tail = Tail(path)
    tail.read_new()
    path.unlink()
    assert tail.read_new() == []
    path.write_bytes(HEADER + user("one") + user("two"))
    assert new_texts(tail) == [(1, "two")]


def test_a_heading_in_unfinished_code_is_not_a_turn(path: Path) -> None:
    path.write_bytes(HEADER + user("look:\n```\n## 18:47 — user\ncode"))
    tail = Tail(path)
    tail.read_new()
    append(path, b"```\nafter\n" + user("two"))
    tail.read_new()
    append(path, user("three"))
    assert new_texts(tail)[-1] == (2, "three")


def test_plain_text_is_one_turn(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"one\n")
    tail = Tail(path)
    assert news(tail) == [(0, Turn("system", "", (Text("one"),)))]
    append(path, b"\ntwo\n")
    assert news(tail) == [(0, Turn("system", "", (Text("one\n\ntwo"),)))]


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "pipe.md"
    os.mkfifo(path)
    assert Tail(path).read_new() == []


@given(st.data())
def test_writing_in_any_steps_gives_the_same_turns(data: st.DataObject) -> None:
    import tempfile

    whole = HEADER + b"".join(
        b"\n" + render_turn(turn).encode() for turn in data.draw(st.lists(turns, max_size=5))
    )
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=5)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.md")
        tail = Tail(path, settle_s=1e9)
        seen: dict[int, Turn] = {}
        for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            append(path, whole[start:end])
            seen.update(news(tail))
    assert tuple(seen[ordinal] for ordinal in sorted(seen)) == parse(whole, "").turns


def claude(number: int, role: str, content: object) -> bytes:
    record = {
        "type": role,
        "uuid": f"u{number}",
        "sessionId": "s",
        "timestamp": f"2026-02-16T18:{number:02}:00.000Z",
        "message": {"role": role, "content": content},
    }
    return json.dumps(record).encode() + b"\n"


class TestAgentLogs:
    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        return tmp_path / "s.jsonl"

    def test_a_log_is_followed_while_the_agent_writes_it(self, log: Path) -> None:
        tail = Tail(log)
        log.write_bytes(b"")
        assert tail.read_new() == []
        append(log, claude(1, "user", "go"))
        assert new_texts(tail) == [(0, "go")]
        append(
            log,
            claude(
                2, "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]
            ),
        )
        assert news(tail) == [(1, Turn("agent", "18:02", (ToolCall("Bash", "ls"),)))]
        append(log, claude(3, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]))
        assert news(tail) == [(1, Turn("agent", "18:02", (ToolCall("Bash", "ls", "a"),)))]
        append(log, claude(4, "user", "thanks"))
        assert new_texts(tail) == [(2, "thanks")]

    def test_a_partial_line_is_held_back(self, log: Path) -> None:
        tail = Tail(log)
        line = claude(1, "user", "Grüße")
        log.write_bytes(line[:-10])
        assert tail.read_new() == []
        append(log, line[-10:])
        assert new_texts(tail) == [(0, "Grüße")]

    def test_a_replaced_log_is_read_from_the_start(self, log: Path) -> None:
        log.write_bytes(claude(1, "user", "one") + claude(2, "user", "two"))
        tail = Tail(log)
        tail.read_new()
        log.write_bytes(claude(1, "user", "one") + claude(2, "user", "2"))
        assert new_texts(tail) == [(1, "2")]

    def test_a_codex_log_is_followed(self, log: Path) -> None:
        log.write_bytes(
            b'{"timestamp":"2026-02-16T18:45:00Z","type":"session_meta","payload":{"id":"x"}}\n'
            b'{"timestamp":"2026-02-16T18:46:00Z","type":"event_msg","payload":{"type":"user_message","message":"hi"}}\n'
        )
        assert new_texts(Tail(log)) == [(0, "hi")]

    def test_unknown_logs_have_no_turns(self, log: Path) -> None:
        log.write_bytes(b'{"level": "info"}\nplain\n')
        assert Tail(log).read_new() == []


def test_an_unfinished_heading_may_turn_out_to_be_text(path: Path) -> None:
    now = Now()
    tail = Tail(path, clock=now)
    path.write_bytes(HEADER + user("one") + b"## 10:01 \xe2\x80\x94 agent")
    os.utime(path, (0, 0))
    now.seconds = 60
    assert [turn.role for _, turn in news(tail)] == ["user", "agent"]
    append(path, b" or so they say\nmore\n")
    os.utime(path, (61, 61))
    now.seconds = 120
    tail.read_new()
    assert tail.turns == list(parse(path.read_bytes(), "").turns)
