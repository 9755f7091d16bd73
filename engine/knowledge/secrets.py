"""What looks like a key or a password does not leave this machine with turns that a service is shown (N3)."""

from __future__ import annotations

from collections.abc import Iterable

from engine.context.quoting import bare
from engine.redaction.detect import redact
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import Turn


def without_secrets(turns: Iterable[tuple[int, Turn]]) -> tuple[list[tuple[int, Turn]], int]:
    """Turns as they may be shown to a service.

    Every field of every block is looked at whole: in a line that is cut to its first characters, half of a
    key would no longer look like one.

    What was injected into the turns is left out, as the prompt leaves it out.

    Returns:
        The turns by number, and in how many places something was taken out of them.
    """
    found = 0

    def clean(text: str) -> str:
        nonlocal found
        said, count = redact(text)
        found += count
        return said

    shown = [(number, clean_turn(bare(turn), clean)) for number, turn in turns]
    return shown, found
