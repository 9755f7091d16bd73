"""Reading transcripts written by people and other programs."""

from __future__ import annotations

from engine.transcripts.format import parse, render
from engine.transcripts.turn import Attachment, KnowledgeChange, Text, ToolCall, Turn
from tests.cases import each_case

WHOLE = """---
session_id: ses_a1
started: 2026-02-16T18:45:00Z
ended: 2026-02-16T19:32:00Z
tags: [coding, git]
knowledge_changes:
  - path: knowledge/a.md
    action: updated
---

# Restructuring

## 18:45 — user
Read all open issues.

## 18:45 — agent
> [tool:exec] gh issue list → 12 results

Here are all 12:

1. **#34**

## 18:52 — agent [memory]
> [knowledge:updated] knowledge/a.md — added plan

## 19:32 — agent
> [attachment:attachments/plan.png]
> [tool:write] knowledge/journal/2026-02-16.md
"""


def test_a_whole_transcript_is_read() -> None:
    found = parse(WHOLE.encode(), "raw/conversations/t.md")
    assert (found.path, found.session_id, found.title) == (
        "raw/conversations/t.md",
        "ses_a1",
        "Restructuring",
    )
    assert (found.started, found.ended) == ("2026-02-16T18:45:00Z", "2026-02-16T19:32:00Z")
    assert found.header["tags"] == ["coding", "git"]
    assert found.header["knowledge_changes"] == [{"path": "knowledge/a.md", "action": "updated"}]
    assert found.turns == (
        Turn("user", "18:45", (Text("Read all open issues."),)),
        Turn(
            "agent",
            "18:45",
            (ToolCall("exec", "gh issue list", "12 results"), Text("Here are all 12:\n\n1. **#34**")),
        ),
        Turn("agent", "18:52", (KnowledgeChange("updated", "knowledge/a.md", "added plan"),), "memory"),
        Turn(
            "agent",
            "19:32",
            (Attachment("attachments/plan.png"), ToolCall("write", "knowledge/journal/2026-02-16.md")),
        ),
    )


def test_every_turn_has_its_line_number() -> None:
    lines = WHOLE.split("\n")
    for turn in parse(WHOLE.encode(), "").turns:
        assert lines[turn.line - 1].startswith(f"## {turn.time} — {turn.role}")


@each_case(
    ("heading", "expected"),
    [
        ("## 18:45 - user", ("user", "18:45", "")),
        ("## 18:45 – user", ("user", "18:45", "")),
        ("## 18:45 -- user", ("user", "18:45", "")),
        ("## 18:45—user", ("user", "18:45", "")),
        ("## 9:05 — agent", ("agent", "09:05", "")),
        ("## 18:45:59 — agent", ("agent", "18:45", "")),
        ("##  18:45  —  Agent  [memory]  ", ("agent", "18:45", "memory")),
        ("## 18:45 — assistant", ("agent", "18:45", "")),
        ("## — system", ("system", "", "")),
    ],
)
def test_headings_in_other_spellings_are_read(heading: str, expected: tuple[str, str, str]) -> None:
    (turn,) = parse(f"{heading}\nhello\n".encode(), "").turns
    assert (turn.role, turn.time, turn.kind) == expected
    assert turn.text == "hello"


@each_case(
    "line",
    [
        "## 24:00 — user",
        "## 18:60 — user",
        "## 18:45 — someone",
        "## 18:45 user",
        "### 18:45 — user",
        "# 18:45 — user",
        " ## 18:45 — user",
        "> ## 18:45 — user",
        "##18:45 — user",
        "## 18:45 — user says",
        "\\## 18:45 — user",
    ],
)
def test_lines_that_are_not_headings(line: str) -> None:
    (turn,) = parse(f"## 10:00 — agent\nbefore\n{line}\nafter\n".encode(), "").turns
    assert turn.text == f"before\n{line.removeprefix(chr(92))}\nafter"


def test_a_heading_inside_fenced_code_is_not_a_turn() -> None:
    body = (
        "## 10:00 — agent\nSee:\n\n````md\n## 18:47 — user\n```\n> [tool:x] y\n````\n\n## 10:01 — user\nok\n"
    )
    first, second = parse(body.encode(), "").turns
    assert first.text == "See:\n\n````md\n## 18:47 — user\n```\n> [tool:x] y\n````"
    assert (second.time, second.text) == ("10:01", "ok")


def test_an_unclosed_fence_hides_no_turns() -> None:
    turns = parse(b"## 10:00 \xe2\x80\x94 agent\n```\ncut off\n\n## 10:01 \xe2\x80\x94 user\nok\n", "").turns
    assert [turn.time for turn in turns] == ["10:00", "10:01"]


def test_windows_line_endings_and_a_byte_order_mark_are_accepted() -> None:
    found = parse(b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode(), "")
    assert found.turns == parse(WHOLE.encode(), "").turns
    assert (found.session_id, found.title) == ("ses_a1", "Restructuring")


def test_a_byte_order_mark_without_a_header_is_accepted() -> None:
    (turn,) = parse("\ufeff## 10:00 — user\nhi\n".encode(), "").turns
    assert turn == Turn("user", "10:00", (Text("hi"),))


def test_the_header_is_optional() -> None:
    found = parse("## 10:00 — user\nhi\n".encode(), "t.md")
    assert (found.session_id, found.started, found.title, found.header) == ("", "", "", {})
    assert found.turns == (Turn("user", "10:00", (Text("hi"),)),)


def test_a_broken_header_is_kept_as_text() -> None:
    found = parse("---\nsession_id: [a\n---\n\n## 10:00 — user\nhi\n".encode(), "t.md")
    assert found.header == {}
    assert "session_id: [a" in found.turns[0].text
    assert found.turns[1].text == "hi"


def test_text_above_the_first_turn_is_kept() -> None:
    found = parse("# Title\n\nA note.\n\n## 10:00 — user\nhi\n".encode(), "")
    assert found.title == "Title"
    assert found.turns[0] == Turn("system", "", (Text("A note."),))


def test_text_without_turns_is_one_system_turn() -> None:
    found = parse(b"# comment\nsome log\n\nmore\n", "notes.txt")
    assert found.turns == (Turn("system", "", (Text("# comment\nsome log\n\nmore"),)),)


def test_an_empty_file_has_no_turns() -> None:
    assert parse(b"", "").turns == ()
    assert parse(b"\n\n  \n", "").turns == ()


def test_a_session_that_has_just_started_has_no_turns() -> None:
    found = parse(b"---\nsession_id: a\n---\n\n# Title\n", "")
    assert (found.title, found.turns) == ("Title", ())


def test_invalid_bytes_survive_a_round_trip() -> None:
    data = b"## 10:00 \xe2\x80\x94 user\nlatin \xe9 end\n"
    (turn,) = parse(data, "").turns
    assert turn.text.encode("utf-8", "surrogateescape") == b"latin \xe9 end"
    assert parse(render(parse(data, "")).encode(), "").turns == (turn,)


@each_case(
    ("line", "expected"),
    [
        ("> [tool:x]", ToolCall("x", "")),
        ("> [tool:x] → done", ToolCall("x", "", "done")),
        ("> [tool:x] a → b → c", ToolCall("x", "a", "b → c")),
        ("> [tool:x] a->b", ToolCall("x", "a->b")),
        ("> [knowledge:created] a.md", KnowledgeChange("created", "a.md")),
        ("> [knowledge:created] a.md - why", KnowledgeChange("created", "a.md", "why")),
        ("> [attachment:a b.png] ", Attachment("a b.png")),
    ],
)
def test_entries_are_read(line: str, expected: ToolCall | KnowledgeChange | Attachment) -> None:
    (turn,) = parse(f"## 10:00 — agent\n{line}\n".encode(), "").turns
    assert turn.blocks == (expected,)


@each_case("line", ["> [tool]", "> [tool:x]y", "> [attachment:a] b", "> a [tool:x] b", ">[tool:x] b"])
def test_quotes_that_are_not_entries(line: str) -> None:
    (turn,) = parse(f"## 10:00 — agent\n{line}\n".encode(), "").turns
    assert turn.text == line


def test_text_and_entries_keep_their_order() -> None:
    body = "## 10:00 — agent\nfirst\n> [tool:a] b\n> [tool:c] d\nsecond\n\n> [tool:e] f\n"
    (turn,) = parse(body.encode(), "").turns
    assert turn.blocks == (
        Text("first"),
        ToolCall("a", "b"),
        ToolCall("c", "d"),
        Text("second"),
        ToolCall("e", "f"),
    )


def test_the_line_that_records_a_call_is_not_content() -> None:
    (turn,) = parse("## 10:00 — user\nhi\n<!-- key:0a1b2c3d4e5f -->\n".encode(), "").turns
    assert turn.blocks == (Text("hi"),)
