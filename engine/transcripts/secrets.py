"""Redacts likely keys and passwords in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.redaction.detect import redacted
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
                return ToolCall(clean(name), clean(summary), clean(result))
            case Attachment(path):
                return Attachment(clean(path))
            case KnowledgeChange(action, path, summary):
                return KnowledgeChange(clean(action), clean(path), clean(summary))

    return replace(turn, blocks=tuple(map(cleaned, turn.blocks)))
