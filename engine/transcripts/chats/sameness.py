"""Tells whether two conversations that begin alike are the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from engine.transcripts.turn import Turn


def is_same(present: Sequence[Turn], wanted: Sequence[Turn]) -> bool:
    """Whether two conversations with the same first message go on alike, as far as both go.

    Most of what follows has to agree: the last reply may have grown, a person may have added notes or changed
    a turn, and a conversation may have been continued differently.
    """
    pairs = [*zip(_after_opening(present), _after_opening(wanted), strict=False)]
    alike = sum(
        one[0] == other[0] and (_within(one[1], other[1]) or _within(other[1], one[1]))
        for one, other in pairs
    )
    return not pairs or 2 * alike > len(pairs)


def _after_opening(turns: Sequence[Turn]) -> Iterator[tuple[str, list[str]]]:
    """Who speaks, and the lines of what they say until another speaks, after the first message."""
    said = (turn for turn in turns if turn.is_dialogue and turn.text.strip())
    is_open = False
    for role, group in groupby(said, key=lambda turn: turn.role):
        lines = [line for turn in group for line in map(str.strip, turn.text.split("\n")) if line]
        if is_open:
            yield role, lines
        is_open = is_open or role == "user"


def _within(lines: Sequence[str], others: Sequence[str]) -> bool:
    """Whether all lines are among the others, in order."""
    left = iter(others)
    return all(line in left for line in lines)
