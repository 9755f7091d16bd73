"""Turns are cleaned as they will stand in a transcript."""

from __future__ import annotations

import re

from engine.transcripts.format import render_turn
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import KnowledgeChange, Text, ToolCall, Turn
from tests.cases import each_case


def clean(text: str) -> str:
    """Take the word behind ``token →`` for a secret, also with the backslash that a summary gets."""
    return re.sub(r"(token \\*→ )\w+", r"\1[secret]", text)


@each_case(
    "call",
    [
        ToolCall("Bash", "print the token", "abc"),
        ToolCall("Bash", "a → b, token", "abc"),
        ToolCall("Bash", "token → abc", "token → abc"),
        ToolCall("", "\\→ token", "abc\nabc"),
    ],
)
def test_what_looks_like_a_secret_only_on_the_line_of_its_call_is_replaced(call: ToolCall) -> None:
    cleaned = clean_turn(Turn("agent", "", (Text("token"), call)), clean)
    text = render_turn(cleaned)
    assert clean(text) == text and "[secret]" in text
    (_, done) = cleaned.blocks
    assert isinstance(done, ToolCall) and done.name == call.name
    assert done.summary == clean(call.summary)


def test_the_line_of_a_memory_operation_is_cleaned_as_a_whole() -> None:
    change = KnowledgeChange("created", "notes/token →", "abc")
    cleaned = clean_turn(
        Turn("agent", "", (change,), "memory"), lambda text: text.replace("— abc", "— [secret]")
    )
    assert cleaned.blocks == (KnowledgeChange("created", "notes/token →", "[secret]"),)


def test_a_table_with_the_line_ends_of_windows_is_searched() -> None:
    table = "host,password\r\nmail,{}\r\n"
    (text,) = clean_turn(Turn("user", "", (Text(table.format("Otter#4810")),))).blocks
    assert text == Text(table.format("[secret]"))


def test_a_key_behind_a_colour_is_replaced_and_the_colour_kept() -> None:
    key = "ghp_" + "x8Kq2mZ4vN7pRt1aWc3eLf6hJb9dGy0uHi5k"
    (text,) = clean_turn(Turn("agent", "", (Text(f"\x1b[32m{key}\x1b[39m, done"),))).blocks
    assert text == Text("\x1b[32m[secret]\x1b[39m, done")


def test_of_what_is_found_across_blocks_no_part_is_kept() -> None:
    blocks = (Text("first half"), ToolCall("Bash", "second half", "ok"), Text("rest"))

    def clean(text: str) -> str:
        text = re.sub(r"first half\n+> \[tool:Bash\] second half", "[secret]", text)
        return re.sub(r"first half|second half", "[secret]", text)

    cleaned = clean_turn(Turn("agent", "", blocks), clean)
    assert cleaned.blocks == (Text("[secret]"), ToolCall("Bash", "[secret]", "ok"), Text("rest"))


def test_of_a_block_whose_beginning_is_found_nothing_is_kept() -> None:
    call = ToolCall("Bash", "second half", "ok")
    cleaned = clean_turn(
        Turn("agent", "", (call,)), lambda text: text.replace("> [tool:Bash] sec", "[secret]")
    )
    assert "ond half" not in render_turn(cleaned)
