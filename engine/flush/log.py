"""Which turns to flush (spec 6.4): those about to leave the sliding window, so that notes are taken of them
first, that are not yet in the append-only log, ``logs/flushes-YYYY-MM.jsonl``, one line per flush.

Turns are numbered from 1 within their conversation. A turn is identified by its number and a digest of its
content: if it has grown or was rewritten since it was flushed, it counts as another turn.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from engine.context.flush_record import FlushRecord, Status, record_in
from engine.context.history import sizes
from engine.store.monthly import MonthlyLog
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation
    from engine.store.files import Files

LOG_KIND = "flushes"


class FlushLog:
    """Writes and reads the log. Thread-safe. ``clock`` is UTC and determines the month's file."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._log = MonthlyLog(files, LOG_KIND, clock)
        self._guard = threading.Lock()
        self._stamp: object = ()
        self._known: dict[str, tuple[FlushRecord, ...]] = {}

    def append(self, record: FlushRecord) -> None:
        """Adds a record; raises ``WriteFailed`` or ``ReadOnly`` if it cannot be written."""
        self._log.append(asdict(record))

    def records(self, path: str) -> tuple[FlushRecord, ...]:
        """The records of one conversation, oldest first. Malformed lines are skipped."""
        return self._read().get(path, ())

    def _read(self) -> dict[str, tuple[FlushRecord, ...]]:
        stamp = self._log.stamp()
        with self._guard:
            if stamp != self._stamp:
                found: dict[str, list[FlushRecord]] = {}
                for tree in self._log.records():
                    record = record_in(tree)
                    if record is not None:
                        found.setdefault(record.path, []).append(record)
                self._known = {name: tuple(records) for name, records in found.items()}
                self._stamp = stamp
            return self._known

    def recorded(self, path: str, turns: Iterable[tuple[int, Turn]]) -> dict[int, Recorded]:
        """What is on record for turns, by number, leaving out those that have changed since."""
        by_number: dict[int, list[tuple[str, Status]]] = {}
        for record in self.records(path):
            for number, name in record.turns.items():
                by_number.setdefault(number, []).append((name, record.status))
        found: dict[int, Recorded] = {}
        for number, turn in turns:
            if number not in by_number:
                continue
            name = digest(turn)
            statuses = [status for known, status in by_number[number] if known == name]
            if statuses:
                done = "flushed" in statuses or "nothing" in statuses
                found[number] = Recorded("flushed" if done else "unflushed", statuses.count("failed"))
        return found

    def flushed(self, conversation: Conversation | None, turns: Sequence[Turn]) -> frozenset[int]:
        """Which of the first turns of a conversation have been flushed, by position from 1.

        ``conversation`` is ``None`` if its file no longer exists.
        """
        if conversation is None:
            return frozenset()
        first = conversation.first
        recorded = self.recorded(conversation.path, enumerate(turns, first + 1))
        return frozenset(number - first for number, known in recorded.items() if known.state == "flushed")


State = Literal["flushed", "unflushed"]
"""``flushed``: a model was shown the turn and its notes were kept. ``unflushed``: on record as without
notes."""

PART_TOKENS = 6_000
"""Maximum tokens of turns in one flush; more are flushed in several parts."""

ATTEMPTS = 3
"""Failed flushes after which only the command retries a turn."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the log records about a turn."""

    state: State
    failures: int = 0  # number of failed flushes


@dataclass(frozen=True, slots=True)
class Part:
    """Turns that are flushed together: all non-empty ones from ``first`` to ``last``."""

    first: int
    last: int
    turns: tuple[tuple[int, Turn], ...]  # by number, ascending

    @property
    def digests(self) -> dict[int, str]:
        """The digests of the turns, by number."""
        return {number: digest(turn) for number, turn in self.turns}


@dataclass(frozen=True, slots=True)
class FlushPlan:
    """What is due to be flushed in a conversation."""

    room: int  # tokens available to the history in the prompt
    tokens: int  # of all turns
    at: int  # tokens beyond which a turn is about to leave the window
    leaving: int  # how many turns have left the window or are about to
    unrecorded: int  # how many of those have no flush on record
    parts: tuple[Part, ...]  # oldest first; empty if nothing is due


def digest(turn: Turn) -> str:
    """A digest of a turn's content: twelve hexadecimal digits."""
    content = repr((turn.role, turn.time, turn.kind, turn.blocks))
    return hashlib.blake2b(content.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()


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
    """Decides what to flush.

    A turn is about to leave the window when it and all newer turns exceed ``at`` of the room. Once such a
    turn has no record, everything beyond half of that mark is flushed at once, so that the very next turn
    does not cause another flush. The newest turn may still grow and is skipped.

    Args:
        turns: Numbered, oldest first, including empty ones.
        room: In tokens.
        recorded: By number; only turns that have not changed since.
        at: Share of ``room``, 0 to 1.
        dropped: Numbers of turns that did not fit into a prompt, whatever the sizes say.
        with_provider: Whether a model can take notes; if so, unflushed turns are retried.
        everything: Also flush turns that are not about to leave.
        again: Also retry turns that failed ``ATTEMPTS`` times, and unflushed turns when nothing else is due.
    """
    sized = sizes(turns)
    limit = int(max(0, room) * min(max(at, 0.0), 1.0))
    newest = turns[-1][0] if turns else 0
    from_end: dict[int, int] = {}
    total = 0
    for number, tokens in reversed(sized):
        total += tokens
        from_end[number] = total
    gone = frozenset(dropped)
    leaving = [n for n, _ in sized if n in gone or (from_end[n] > limit and n != newest)]
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
        if is_open(n) and (everything or n in gone or (from_end[n] > limit // 2 and n != newest))
    ]
    parts = _parts(wanted if due else [], sized, dict(turns))
    return FlushPlan(max(0, room), total, limit, len(leaving), len(unrecorded), parts)


def _parts(
    wanted: Sequence[int], sized: Sequence[tuple[int, int]], turns: Mapping[int, Turn]
) -> tuple[Part, ...]:
    """Groups adjacent wanted turns into parts of at most ``PART_TOKENS``."""
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
