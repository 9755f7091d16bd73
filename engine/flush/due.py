"""Which turns are about to leave the sliding window, so that notes are taken of them first (spec 6.4).

Turns are named by their numbers in the conversation, from 1. A turn is identified by its number and a digest
of what it says: one that has grown or was rewritten since it was flushed is another turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.context.history import sizes
from engine.transcripts.turn import Turn

State = Literal["flushed", "unflushed"]
"""What became of a turn: ``flushed`` when a model was shown it and what it noted was kept, ``unflushed`` when
a record says that no notes were taken."""

PART_TOKENS = 6_000
"""Tokens of turns that one flush covers; more are flushed in several parts."""

ATTEMPTS = 3
"""Failed flushes after which only the command takes a turn up again."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of one turn."""

    state: State
    failures: int = 0  # how many flushes of it have failed


@dataclass(frozen=True, slots=True)
class Part:
    """Turns that are flushed together: all that are not empty from ``first`` to ``last``."""

    first: int
    last: int
    turns: tuple[tuple[int, Turn], ...]  # by number, ascending

    @property
    def digests(self) -> dict[int, str]:
        """What identifies the turns, by number."""
        return {number: digest(turn) for number, turn in self.turns}


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """What is to be flushed of one conversation now."""

    room: int  # tokens that the history has in the prompt
    tokens: int  # of all turns
    at: int  # tokens behind which a turn is about to leave the window
    leaving: int  # how many turns have left the window or are about to
    unrecorded: int  # how many of those no flush has recorded
    parts: tuple[Part, ...]  # oldest first; empty when nothing is due


def digest(turn: Turn) -> str:
    """Identifies what a turn says: twelve hexadecimal digits."""
    said = repr((turn.role, turn.time, turn.kind, turn.blocks))
    return hashlib.blake2b(said.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()


def plan(
    turns: Sequence[tuple[int, Turn]],
    room: int,
    recorded: Mapping[int, Recorded],
    *,
    at: float,
    dropped: Collection[int] = (),
    with_provider: bool,
    everything: bool = False,
    again: bool = False,
) -> FlushPlan:
    """What is due.

    A turn is about to leave when it and all newer ones together take more than ``at`` of the room. As soon as
    one such turn is in no record, everything behind half of that mark is flushed at once, so that the next
    flush is not due again with the next turn. The newest turn may still grow and is left for later.

    ``turns`` are numbered and oldest first, empty ones among them; ``room`` is in tokens, ``at`` a share of
    it, 0 to 1. ``recorded`` holds only turns that are unchanged since, by number. ``dropped`` are numbers of
    turns that a prompt had no room for, whatever the sizes say. ``with_provider`` says that a model can take
    notes: turns without notes are then taken up again. ``everything`` flushes turns that are in no danger,
    too; ``again`` also takes up turns that failed ``ATTEMPTS`` times, and unflushed turns even when nothing
    else is due.
    """
    sized = sizes(turns)
    limit = int(max(0, room) * min(max(at, 0.0), 1.0))
    newest = turns[-1][0] if turns else 0
    behind: dict[int, int] = {}
    total = 0
    for number, tokens in reversed(sized):
        total += tokens
        behind[number] = total
    gone = frozenset(dropped)
    leaving = [n for n, _ in sized if n in gone or (behind[n] > limit and n != newest)]
    unrecorded = [n for n in leaving if n not in recorded]

    def is_open(number: int) -> bool:
        known = recorded.get(number)
        if known is None:
            return True
        return with_provider and known.state == "unflushed" and (again or known.failures < ATTEMPTS)

    due = everything or unrecorded or (again and any(map(is_open, leaving)))
    wanted = [
        n
        for n, _ in sized
        if is_open(n) and (everything or n in gone or (behind[n] > limit // 2 and n != newest))
    ]
    parts = _parts(wanted if due else [], sized, dict(turns))
    return FlushPlan(max(0, room), total, limit, len(leaving), len(unrecorded), parts)


def _parts(
    wanted: Sequence[int], sized: Sequence[tuple[int, int]], turns: Mapping[int, Turn]
) -> tuple[Part, ...]:
    """The wanted turns in parts of at most ``PART_TOKENS``, each without another turn in between."""
    place = {number: index for index, (number, _) in enumerate(sized)}
    tokens = dict(sized)
    runs: list[list[int]] = []
    spent = 0
    for number in wanted:
        follows = bool(runs) and place[number] == place[runs[-1][-1]] + 1
        if follows and spent + tokens[number] <= PART_TOKENS:
            runs[-1].append(number)
            spent += tokens[number]
        else:
            runs.append([number])
            spent = tokens[number]
    return tuple(Part(run[0], run[-1], tuple((number, turns[number]) for number in run)) for run in runs)
