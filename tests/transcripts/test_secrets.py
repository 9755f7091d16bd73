"""Turns are cleaned as they will stand in a transcript."""

from __future__ import annotations

import re

from engine.transcripts.format import render_turn
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import Text, ToolCall, Turn
from tests.cases import each_case


def clean(text: str) -> str:
    """Take the word behind ``token →`` for a secret."""
    return re.sub(r"(?<=token → )\w+", "[secret]", text)


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
