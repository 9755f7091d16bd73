"""Rendered transcripts are read back equal, whatever their text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.transcripts.format import last_turn, parse, render, render_turn
from engine.transcripts.turn import Attachment, KnowledgeChange, Text, ToolCall, Transcript, Turn
from tests.transcripts.strategies import PIECES, header_values, nasty_text, turns


def transcript(*given_turns: Turn, title: str = "", header: dict[str, object] | None = None) -> Transcript:
    return Transcript("", "", "", "", title, header or {}, given_turns)


def read_back(text: str) -> Transcript:
    return parse(text.encode("utf-8"), "t.md")


@given(st.lists(turns, max_size=4), nasty_text)
def test_turns_survive_a_round_trip_through_text(given_turns: list[Turn], title: str) -> None:
    text = render(transcript(*given_turns, title=title, header={"session_id": "s"}))
    assert read_back(text).turns == tuple(given_turns)
    # The file is valid UTF-8 with a valid header.
    assert not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    data = text.encode("utf-8")
    # The last turn is found without reading the whole file.
    assert last_turn(data) == (given_turns[-1] if given_turns else None)
    assert last_turn(data.replace(b"\n", b"\r\n")) == last_turn(data)


@given(
    st.lists(turns, max_size=3),
    nasty_text,
    st.dictionaries(st.sampled_from(["tags", "x", "no"]), header_values),
)
def test_rendering_what_was_parsed_gives_the_same_text(
    given_turns: list[Turn], title: str, header: dict[str, object]
) -> None:
    text = render(transcript(*given_turns, title=title, header={"session_id": "s", **header}))
    again = read_back(text)
    assert again.session_id == "s"
    assert render(again) == text


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from([*PIECES, "---\nsession_id: a\n---\n", "\ufeff"])).map(
            lambda parts: "\n".join(parts).encode("utf-8", "surrogatepass")
        ),
    )
)
def test_any_bytes_can_be_read_and_written_without_loss(data: bytes) -> None:
    first = parse(data, "t.md")
    again = read_back(render(first))
    assert again.turns == first.turns
    assert render(again) == render(first)


def test_a_turn_is_rendered_as_in_the_specification() -> None:
    turn = Turn(
        "agent",
        "18:45",
        (ToolCall("exec", "gh issue list --state open", "12 results"), Text("Here are all 12 open issues:")),
    )
    assert render_turn(turn) == (
        "## 18:45 — agent\n"
        "> [tool:exec] gh issue list --state open → 12 results\n"
        "\n"
        "Here are all 12 open issues:\n"
    )


def test_a_memory_turn_is_rendered_as_in_the_specification() -> None:
    change = KnowledgeChange("updated", "knowledge/a.md", "added migration plan")
    assert render_turn(Turn("agent", "18:52", (change,), "memory")) == (
        "## 18:52 — agent [memory]\n> [knowledge:updated] knowledge/a.md — added migration plan\n"
    )


def test_a_header_is_rendered_as_in_the_specification() -> None:
    header: dict[str, object] = {
        "session_id": "ses_a1b2c3d4",
        "started": "2026-02-16T18:45:00Z",
        "model": "claude-opus-4.6",
        "topic": "autopoiesis restructuring",
        "tags": ["coding", "architecture", "git"],
        "tokens_in": 45230,
        "knowledge_changes": [{"path": "knowledge/a.md", "action": "updated", "summary": "Added: a plan"}],
    }
    assert render(transcript(title="Autopoiesis Restructuring", header=header)) == (
        "---\n"
        "session_id: ses_a1b2c3d4\n"
        "started: 2026-02-16T18:45:00Z\n"
        "model: claude-opus-4.6\n"
        "topic: autopoiesis restructuring\n"
        "tags: [coding, architecture, git]\n"
        "tokens_in: 45230\n"
        "knowledge_changes:\n"
        "  - path: knowledge/a.md\n"
        "    action: updated\n"
        '    summary: "Added: a plan"\n'
        "---\n\n# Autopoiesis Restructuring\n"
    )


def test_a_turn_heading_in_the_content_is_escaped_with_a_backslash() -> None:
    turn = Turn("user", "10:00", (Text("Look:\n## 18:47 — user\nfake"),))
    assert render_turn(turn) == "## 10:00 — user\nLook:\n\\## 18:47 — user\nfake\n"


def test_other_headings_in_the_content_are_unchanged() -> None:
    text = "## Summary of fixes\n\n### 10:00\n\n## 10:00 — lunch\n"
    assert render_turn(Turn("agent", "10:00", (Text(text.rstrip()),))) == f"## 10:00 — agent\n{text}"


def test_code_that_shows_a_transcript_is_unchanged() -> None:
    text = "```\n## 18:47 — user\n> [tool:x] y\n```"
    assert render_turn(Turn("agent", "10:00", (Text(text),))) == f"## 10:00 — agent\n{text}\n"


def test_an_unclosed_fence_does_not_swallow_the_next_turn() -> None:
    cut_off = Turn("agent", "10:00", (Text("Here:\n```py\nprint(1)"),))
    following = Turn("user", "10:01", (Text("go on\n```\nmine\n```"),))
    text = render(transcript(cut_off, following))
    assert "\\```py" in text
    assert read_back(text).turns == (cut_off, following)


def test_backticks_within_a_line_are_not_a_fence() -> None:
    turn = Turn("agent", "10:00", (Text("```x``` is code\n~~ and this is not"),))
    assert render_turn(turn) == "## 10:00 — agent\n```x``` is code\n~~ and this is not\n"


def test_adjacent_texts_stay_separate() -> None:
    turn = Turn("agent", "10:00", (Text("a"), Text("b"), Attachment("attachments/x.png"), Text("c")))
    assert read_back(render_turn(turn)).turns == (turn,)


def test_separators_inside_a_summary_do_not_split_it() -> None:
    turn = Turn(
        "agent", "10:00", (ToolCall("sh", "a → b", "c → d"), KnowledgeChange("moved", "a - b.md", "c — d"))
    )
    assert read_back(render_turn(turn)).turns == (turn,)


def test_control_characters_are_escaped_and_read_back() -> None:
    turn = Turn("user", "10:00", (Text("bell\x07 esc\x1b[0m nul\0 cr\r half\ud83d raw\udcff literal\\u{0}"),))
    text = render_turn(turn)
    assert "bell\\u{7} esc\\u{1b}[0m nul\\u{0} cr\\u{d} half\\u{d83d} raw\\u{dcff} literal\\\\u{0}" in text
    assert read_back(text).turns == (turn,)


def test_an_invalid_time_and_an_odd_kind_still_give_a_heading() -> None:
    assert render_turn(Turn("user", "soon", (), "a b]")) == "## — user [a-b-]\n"
    assert render_turn(Turn("user", "9:05", ())) == "## 09:05 — user\n"


def test_long_runs_of_characters_are_parsed_quickly() -> None:
    for piece in ("\\", "`", "```a\n", "~~~\n```\n", "\n", " ", "→ ", "<!-- key:", "> [tool:", "u{0}\\"):
        turn = Turn("agent", "10:00", (Text(piece * 10_000), ToolCall(piece * 2_500, piece * 2_500)))
        assert read_back(render_turn(turn)).turns == (turn,)
