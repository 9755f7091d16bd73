"""Redacts likely keys and passwords in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.redaction.detect import PLACEHOLDER, redacted
from engine.transcripts.entries import parse_entry, render_entry
from engine.transcripts.turn import Attachment, Block, KnowledgeChange, Text, ToolCall, Turn

REDACTED_FIELD = "redacted"
"""Header field of a transcript: the number of ``[secret]`` placeholders in its text."""


def clean_turn(turn: Turn, clean: Callable[[str], str] = redacted) -> Turn:
    """Apply ``clean`` to every field of every block.

    Each field is cleaned whole, before any truncation: half a key would no longer look like one.
    """

    def cleaned(block: Block) -> Block:
        match block:
            case Text(text):
                return Text(clean(text))
            case ToolCall(name, summary, result):
                return clean_as_line(ToolCall(clean(name), clean(summary), clean(result)), clean)
            case Attachment(path):
                return Attachment(clean(path))
            case KnowledgeChange(action, path, summary):
                return KnowledgeChange(clean(action), clean(path), clean(summary))

    return replace(turn, blocks=tuple(map(cleaned, turn.blocks)))


def clean_as_line(call: ToolCall, clean: Callable[[str], str]) -> ToolCall:
    """A call, its fields already cleaned, cleaned again as the line that it becomes in the transcript.

    There, a text may look like a key only because of what stands before it; the whole transcript would be
    kept out of git.
    """
    if not call.result:
        return call
    line = render_entry(call)
    again = clean(line)
    if again == line:
        return call
    found = parse_entry(again)
    return found if isinstance(found, ToolCall) else replace(call, result=PLACEHOLDER)
