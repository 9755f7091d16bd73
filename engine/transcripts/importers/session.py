"""Base class of the session log readers, and accessors for untyped JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from engine.startup.records import dataclass
from engine.transcripts.days import day_to_write, following, moment, not_ahead
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.turns import TurnBuilder
from engine.transcripts.turn import Block, Turn


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the last turn begins. Everything before it is final, so a later import can resume here."""

    offset: int = 0  # byte offset of the line that opened the turn
    skip: int = 0  # JSON objects on that line that belong to earlier turns
    turns: int = 0  # number of earlier turns
    odd: int = 0  # earlier lines that could not be read completely
    tokens_in: int = 0  # total tokens sent before it
    tokens_out: int = 0  # total tokens received before it
    reply: str = ""
    """Id of the model reply being counted; its lines can be on both sides of the turn's start."""
    reply_in: int = 0  # tokens already counted for that reply, sent
    reply_out: int = 0  # the same, received
    minute: int = 0
    """Time of the previous turn in minutes since the epoch, as derived from the transcript's headings; for
    the first turn, when the session started; 0 if unknown."""
    ops: int = 0  # messages and calls in that object that belong to earlier turns
    acted: int = 0  # whether the agent had said or done anything before that object; 0 or 1
    left_out: str = ""  # what was left out before that object, as ``reason:count,…``
    open: str = ""
    """What earlier lines began and none has ended yet, in the reader's own notation; no blanks."""


EPOCH = datetime.fromtimestamp(0, UTC)

START = Checkpoint()
"""The beginning of a log."""


_PROGRAMS = {"/.claude-mem/observer-sessions": "claude-mem"}
"""Programs that talk to an agent in a folder of their own, by how it ends."""


@lru_cache
def program_in(folder: str) -> str:
    """The program that alone talks to an agent in a folder; empty if people may."""
    folder = folder.replace("\\", "/")
    return next((name for end, name in _PROGRAMS.items() if folder.endswith(end)), "")


class SessionReader(ABC):
    """Turns the records of one session log into turns.

    ``finished`` is called with each turn that can no longer change. ``session_id`` and ``topic`` are empty
    until found in the log; ``renamed`` means that the user set the topic. ``model``, ``cwd``, ``remote`` (the
    address of the repository), ``first`` (UTC) and ``question`` are the first ones seen, ``last`` (UTC) is
    the last time seen. ``odd`` counts lines that could not be read completely; ``tokens_in`` and
    ``tokens_out`` are totals so far. ``checkpoint`` is where the last turn begins. ``memory_bytes`` is the
    distance within which a repeated record is recognized. ``acted`` is whether the agent has said or done
    anything yet. ``dates_all`` gives every turn its date, not only where the day changes. ``end`` is the byte
    offset after the last line read by ``SessionLog.read``.
    """

    memory_bytes = 0

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        self.session_id = ""
        self.model = ""
        self.cwd = ""
        self.remote = ""
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.topic = ""
        self.renamed = False
        self.question = ""
        self.odd = since.odd
        self.end = since.offset
        self.tokens_in = since.tokens_in
        self.tokens_out = since.tokens_out
        self.checkpoint = since
        self._report = finished
        self._offset, self._place = since.offset, since.skip
        self._turns = since.turns
        self._reply = (since.reply, since.reply_in, since.reply_out)
        self.dates_all = False
        self.acted = bool(since.acted)
        self._left = Counter(_read_counts(since.left_out))
        self._since = since
        self._before_record = (self.acted, dict(self._left), since.open)
        # Time of the previous turn, as derived from the headings.
        self._previous = EPOCH + timedelta(minutes=since.minute) if since.minute else None
        self.turns = TurnBuilder(self._finished, self._opened)

    @property
    def total(self) -> int:
        """Number of turns so far, including those that may still change."""
        return self._turns + self.turns.is_begun

    @property
    def unfinished(self) -> tuple[Turn, ...]:
        """The trailing turns that may still change: the last one, and messages not delivered yet."""
        current = self.turns.current
        return () if current is None else (current,)

    @property
    def left_out(self) -> dict[str, int]:
        """What was left out of the turns: counts by reason, largest first.

        Reasons are ``thinking``, ``sub-agents``, ``tool-output`` (shortened to one line), ``images``
        (mentioned only), ``injected`` (context added by the program), ``system-records``,
        ``repeated-records``, ``taken-back`` (typed, but withdrawn before it was sent) and
        ``unreadable-lines``.
        """
        counts = self._left + Counter({"unreadable-lines": self.odd})
        return dict(counts.most_common())

    def feed(self, record: Record, offset: int, place: int = 0) -> None:
        """Process one record.

        ``offset`` is the byte offset of its line; ``place`` is the number of objects before it on that line.
        """
        self._offset, self._place = offset, place
        self._before_record = (self.acted, dict(self._left), self._open())
        is_first = self._since.ops and (offset, place) == (self._since.offset, self._since.skip)
        self.turns.begin(skip=self._since.ops if is_first else 0)
        self._note_time(record.get("timestamp"))
        self._handle(record)

    @abstractmethod
    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Restore what was open at the checkpoint.

        ``read`` returns the records on the line at a byte offset.
        """

    def _leave_out(self, reason: str, count: int = 1) -> None:
        if count:
            self._left[reason] += count

    def _open(self) -> str:
        """What is still open, in the notation of ``Checkpoint.open``."""
        return ""

    @abstractmethod
    def remember(self, record: Record, offset: int) -> None:
        """Note a record before the checkpoint, so that a repetition is recognized."""

    @abstractmethod
    def _handle(self, record: Record) -> None:
        """Process one record; its time is already noted."""

    def _add_user_turn(self, blocks: Sequence[Block], kind: str, *, is_question: bool = True) -> None:
        """Add a user turn; the first question gives the session its title if it has no other."""
        self.turns.add_message("user", blocks, kind)
        current = self.turns.current
        if is_question and not self.question and current is not None and current.role == "user":
            self.question = current.text

    def _note_time(self, value: Any) -> None:
        at = not_ahead(moment(value))
        if at is not None:
            self.first = self.first or at
            self.last = at

    def _finished(self, turn: Turn) -> None:
        self._turns += 1
        self._report(turn)

    def _opened(self) -> tuple[str, str]:
        """Set the checkpoint to the start of a turn; return the date and time for its heading."""
        before = self._previous_time
        acted, left_out, still_open = self._before_record
        self.checkpoint = Checkpoint(
            self._offset,
            self._place,
            self._turns,
            self.odd,
            self.tokens_in,
            self.tokens_out,
            *self._reply,
            minute=int((before - EPOCH).total_seconds()) // 60 if before is not None else 0,
            ops=self.turns.ops - 1,
            acted=int(acted),
            left_out=",".join(f"{reason}:{count}" for reason, count in left_out.items()),
            open=still_open,
        )
        at = self.last or before
        if at is None:
            return "", "00:00"
        day, clock, self._previous = self._heading(at, before)
        return day, clock

    @property
    def _previous_time(self) -> datetime | None:
        """Time of the last turn, or of the session's start; ``None`` if unknown."""
        return self.first if self._previous is None and not self._turns else self._previous

    def _heading(self, at: datetime, before: datetime | None) -> tuple[str, str, datetime]:
        """Date and time for a heading, and the time of its turn as derived from the heading."""
        is_needed = before is None or self.dates_all
        day = at.date().isoformat() if is_needed or before is None else day_to_write(at, before)
        clock = f"{at:%H:%M}"
        return day, clock, following(before or at, clock, day)


def _read_counts(written: str) -> dict[str, int]:
    """The counts in a checkpoint; invalid parts are skipped."""
    parts = (part.rpartition(":") for part in written.split(","))
    return {reason: int(count) for reason, _, count in parts if reason and count.isdecimal()}


def text_of(value: Any, key: str) -> str:
    """A string in a JSON object; empty if missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def object_of(value: Any, key: str) -> Record:
    """An object in a JSON object; empty if missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def list_of(value: Any, key: str) -> list[Any]:
    """A list in a JSON object; empty if missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def json_in(text: str | bytes) -> Any:
    """The value of a JSON text; ``None`` if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def number_of(value: Any, key: str) -> int:
    """A positive integer in a JSON object; 0 if missing or anything else."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0
