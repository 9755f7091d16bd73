"""Formats turns as a record in a prompt, with speakers, and escaped so that they cannot end the record."""

from __future__ import annotations

import re
from dataclasses import replace

from engine.startup.lazy import expression
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import Text, Turn


def bare(turn: Turn) -> Turn:
    """A turn without injected text, so that memory never learns from itself (design 3.13)."""
    blocks = tuple(
        Text(strip_injected(block.text)) if isinstance(block, Text) else block for block in turn.blocks
    )
    return replace(turn, blocks=blocks)


def fenced(text: str) -> str:
    """A text that can neither open nor close a part of a prompt, and is valid UTF-8."""
    return _TAG.sub("‹", text).encode("utf-8", "replace").decode("utf-8")


def attribute(text: str, limit: int = 20) -> str:
    """A text as the value of an attribute, without unsafe characters and at most ``limit`` long."""
    return "".join(character for character in text if character.isalnum() or character in ":.- ")[:limit]


def speaker(turn: Turn) -> str:
    """The speaker of a turn, as named in prompts."""
    return "person" if turn.role == "user" else turn.role


_TAG = expression(r"<(?=\s*/?\s*(?:conversation|turn)\b)", re.IGNORECASE)
