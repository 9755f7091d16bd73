"""Cursor's transcripts, as JSON and as text: prompts without wrapper, replies without thoughts, calls."""

from __future__ import annotations

import json
from pathlib import Path

from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.read import read_chats
from engine.transcripts.turn import ToolCall
from tests.cli.conftest import Command, apo

__all__ = ["apo"]

_PROMPT = (
    "[Image]\n<image_files>\nThe following images were provided by the user:\n1. /home/robin/a.png\n"
    "</image_files>\n<user_query>\nmove the gauge to the left\n</user_query>"
)
_CALLS = (ToolCall("read_file", "src/gauge.ts"), ToolCall("search_replace", "src/gauge.ts"))
_TEXT = f"""user:
{_PROMPT}

assistant:
<think>
They want it on the left.
</think>
I'll look for it.

[Tool call] read_file
  target_file: src/gauge.ts
  offset: 1

[Tool result] read_file

assistant:
[Thinking] There it is.
[Tool call] search_replace
  file_path: src/gauge.ts
  old_string: margin: 0;

top: 1px;
  new_string: margin: auto;

[Tool result] search_replace

assistant:
Moved.
"""


def _said(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in chat.turns]


def test_a_transcript_in_json_is_read() -> None:
    messages = [
        {"role": "user", "text": _PROMPT},
        {
            "role": "assistant",
            "text": "<think>\nThey want it on the left.\n</think>\nI'll look for it.\n",
            "toolCalls": [{"toolName": "read_file", "args": {"target_file": "src/gauge.ts", "offset": 1}}],
        },
        {"role": "tool", "toolResult": {"toolName": "read_file"}},
        {
            "role": "assistant",
            "thinking": "There it is.",
            "toolCalls": [{"toolName": "search_replace", "args": {"file_path": "src/gauge.ts"}}],
        },
        {"role": "tool", "toolResult": {"toolName": "search_replace"}},
        {"role": "assistant", "text": "Moved."},
    ]
    (chat,) = read_chats(json.dumps(messages).encode(), "x.json")
    assert _said(chat) == [("user", "move the gauge to the left"), ("agent", "I'll look for it.\n\nMoved.")]
    assert chat.turns[1].tools == _CALLS
    assert chat.left_out["thinking"] == 2


def test_a_transcript_as_text_is_read() -> None:
    (chat,) = read_chats(_TEXT.encode(), "x.txt")
    assert _said(chat) == [("user", "move the gauge to the left"), ("agent", "I'll look for it.\n\nMoved.")]
    assert chat.turns[1].tools == _CALLS
    assert (chat.left_out["thinking"], chat.left_out["tool-output"]) == (2, 2)


def test_a_transcript_that_lies_there_twice_is_read_once(tmp_path: Path, apo: Command) -> None:
    root, folder = tmp_path / "memory", tmp_path / "transcripts"
    assert apo("init", root).code == 0
    folder.mkdir()
    name = "0f0e0d0c-1111-4222-8333-444455556666"
    messages = [{"role": "user", "text": _PROMPT}, {"role": "assistant", "text": "Moved."}]
    (folder / f"{name}.json").write_text(json.dumps(messages))
    (folder / f"{name}.txt").write_text(_TEXT)
    (folder / "notes.txt").write_text(_TEXT.replace("gauge", "lock"))
    assert "2 new; 4 new turns" in apo("-C", root, "import", folder).out
