"""Turns as a record in a prompt: told apart by who spoke, and unable to end the record they stand in."""

from __future__ import annotations

import re
from dataclasses import replace

from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import Text, Turn


def bare(turn: Turn) -> Turn:
    """A turn without what was injected into it, so that memory never learns from itself (design 3.13)."""
    blocks = tuple(
        Text(strip_injected(block.text)) if isinstance(block, Text) else block for block in turn.blocks
    )
    return replace(turn, blocks=blocks)


def fenced(text: str) -> str:
    """A text that can neither close nor open a part of the prompt, and can be sent as UTF-8."""
    return _TAG.sub("‹", text).encode("utf-8", "replace").decode("utf-8")


def attribute(text: str, most: int = 20) -> str:
    """A text as the value of an attribute: what could end it is left out, and so is what is too long."""
    return "".join(character for character in text if character.isalnum() or character in ":.- ")[:most]


def speaker(turn: Turn) -> str:
    """Who speaks in a turn, as a prompt says it."""
    return "person" if turn.role == "user" else turn.role


_TAG = re.compile(r"<(?=\s*/?\s*(?:conversation|turn)\b)", re.IGNORECASE)
