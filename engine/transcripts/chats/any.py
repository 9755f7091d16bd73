"""Reads a conversation of any program, and loads the readers of other programs' chats only for these."""

from __future__ import annotations

from engine.transcripts.format import parse
from engine.transcripts.turn import Transcript


def read_chat(data: bytes, name: str) -> Transcript | None:
    """As ``read.read_chat``."""
    from engine.transcripts.chats import read  # noqa: PLC0415 — 17 ms of patterns

    return read.read_chat(data, name)


def read_text(data: bytes, name: str) -> Transcript:
    """A text as turns: a transcript of ours, a chat of another program, or one turn without a speaker.

    ``data`` may be a beginning of the file, ``name`` its path.
    """
    transcript = parse(data, name)
    if any(turn.line for turn in transcript.turns):
        return transcript
    return read_chat(data, name) or transcript
