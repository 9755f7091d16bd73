"""Redacts likely keys and passwords in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from engine.redaction.detect import PLACEHOLDER, redacted
from engine.transcripts.format import parse_turns, render_turn
from engine.transcripts.turn import Text, Turn

REDACTED_FIELD = "redacted"
"""Header field of a transcript: the number of ``[secret]`` placeholders in its text."""
_ESCAPED = {"\\u{1b}": "\x1b", "\\u{d}": "\r"}
"""How a transcript writes the beginnings of terminals' colours and the ends of Windows' lines."""


def clean_turn(turn: Turn, clean: Callable[[str], str] = redacted) -> Turn:
    """Apply ``clean`` to a turn as it stands in a transcript, where all that may not be committed is found.

    A text may look like a key only because of what stands before it on its line, such as the command that
    printed it.
    """
    text = render_turn(turn)
    for escaped, raw in _ESCAPED.items():  # or a letter of theirs would belong to the word beside it
        text = text.replace(escaped, raw)
    again = clean(text)
    if again == text:
        return turn
    for escaped, raw in _ESCAPED.items():
        again = again.replace(raw, escaped)
    turns = parse_turns(again)[1]
    blocks = turns[0].blocks if len(turns) == 1 else ()
    if [*map(type, blocks)] == [*map(type, turn.blocks)]:
        return replace(turn, blocks=blocks)
    # What was redacted spans blocks, or the beginning of one, of which nothing is kept then.
    if len(turn.blocks) == 1:
        return replace(turn, blocks=(Text(PLACEHOLDER),))
    parts = (clean_turn(replace(turn, blocks=(block,)), clean).blocks for block in turn.blocks)
    return replace(turn, blocks=tuple(chain.from_iterable(parts)))
