"""Notes that are not written by themselves, because whoever spoke through them may be nobody we know (M3)."""

from __future__ import annotations

from engine.context.flush_prompt import Note
from engine.context.voices import Voices, voices, why_doubtful

__all__ = ["Voices", "voices", "why_held"]


def why_held(note: Note, said: Voices) -> str:
    """Why a note waits for a person; empty when it may be written.

    Args:
        note: The note.
        said: What was said in the turns that it is about.
    """
    return why_doubtful(note.text, said, is_tool=note.source == "tool")
