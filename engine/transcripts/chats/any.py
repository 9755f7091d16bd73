"""Reads a conversation from any program; the readers for other programs are loaded only when needed."""

from __future__ import annotations

from engine.transcripts.format import parse
from engine.transcripts.turn import Transcript

CHATS = frozenset({"", "chat", "chatgpt", "claude-ai", "deepseek", "open-webui"})
"""The values of ``channel`` of conversations in which no agent works."""


def read_chat(data: bytes, name: str) -> Transcript | None:
    """As ``read.read_chat``."""
    from engine.transcripts.chats import read  # noqa: PLC0415 — 17 ms of patterns

    return read.read_chat(data, name)


def read_text(data: bytes, name: str) -> Transcript:
    """Parse a text into turns: our own transcript, another program's chat, or one turn without a speaker.

    ``data`` may be only the beginning of the file; ``name`` is its path.
    """
    transcript = parse(data, name)
    if any(turn.line for turn in transcript.turns):
        return transcript
    return read_chat(data, name) or transcript
