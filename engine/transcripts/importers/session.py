"""What both kinds of session log have in common: who, when, how much, and the turns."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from engine.startup.records import dataclass
from engine.transcripts.days import day_to_write, following, moment
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.turns import TurnBuilder
from engine.transcripts.turn import Block, Turn


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the last turn begins. Everything before it is final, so a later reading can start here."""

    offset: int = 0  # byte offset of the line that opened the turn
    skip: int = 0  # JSON objects on that line that belong to what was before
    turns: int = 0  # turns before it
    odd: int = 0  # lines before it that could not be read whole
    tokens_in: int = 0  # all tokens sent before it
    tokens_out: int = 0  # all tokens received before it
    reply: str = ""
    """The model's reply being counted, as the log identifies it; its lines can surround the turn's start."""
    reply_in: int = 0  # tokens already counted for it, sent
    reply_out: int = 0  # the same, received
    minute: int = 0
    """When the turn before was spoken, in minutes since the epoch, as a reader of the transcript has it; for
    the first turn, when the session started; 0 where it is not known."""
    ops: int = 0  # things said or called on that object that belong to what was before
    acted: int = 0  # whether the agent had said or done anything before that object; 0 or 1
    left_out: str = ""  # what was left out before that object, as ``reason:count,…``
    open: str = ""
    """What an earlier line began and no later one has ended, as the reader writes it; no blanks."""


EPOCH = datetime.fromtimestamp(0, UTC)

START = Checkpoint()
"""The beginning of a log."""


class SessionReader(ABC):
    """Turns the records of one session log into turns.

    ``finished`` is called with each turn that can no longer change. ``session_id`` and ``topic`` are empty
    until the log gives them; ``renamed`` says that the person gave the topic. ``model``, ``cwd``, ``first``
    (UTC) and ``question`` are the first ones seen, ``last`` (UTC) is the last time seen. ``odd`` counts lines
    that could not be read whole; ``tokens_in`` and ``tokens_out`` are totals so far. ``checkpoint`` is where
    the last turn begins. ``memory_bytes`` is the distance within which a repeated record is recognised.
    ``acted`` says that the agent has said or done anything yet. ``dates_all`` gives every turn its date, not
    only where the day changes. ``end`` is the byte offset after the last line read by ``SessionLog.read``.
    """

    memory_bytes = 0

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        self.session_id = ""
        self.model = ""
        self.cwd = ""
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
        # Known of the turn before, and kept up as a reader of the headings has it.
        self._before = EPOCH + timedelta(minutes=since.minute) if since.minute else None
        self.turns = TurnBuilder(self._finished, self._opened)

    @property
    def total(self) -> int:
        """Turns so far, those included that may still change."""
        return self._turns + self.turns.is_begun

    @property
    def unfinished(self) -> tuple[Turn, ...]:
        """The turns at the end that may still change: the last one, and what waits to be heard."""
        current = self.turns.current
        return () if current is None else (current,)

    @property
    def left_out(self) -> dict[str, int]:
        """What of the log is not in the turns, and how often: counts by reason, the largest first.

        Reasons are words with hyphens: ``thinking``, ``sub-agents``, ``tool-output`` (shortened to one line),
        ``images`` (mentioned), ``injected`` (what the program told the model), ``system-records``,
        ``repeated-records``, ``taken-back`` (typed, and taken back before it was sent) and
        ``unreadable-lines``.
        """
        counts = self._left + Counter({"unreadable-lines": self.odd})
        return dict(counts.most_common())

    def feed(self, record: Record, offset: int, place: int = 0) -> None:
        """Take in one record.

        ``offset`` is the byte offset of its line; ``place`` is how many objects precede it on that line.
        """
        self._offset, self._place = offset, place
        self._before_record = (self.acted, dict(self._left), self._open())
        is_first = self._since.ops and (offset, place) == (self._since.offset, self._since.skip)
        self.turns.begin(skip=self._since.ops if is_first else 0)
        self._note_time(record.get("timestamp"))
        self._take(record)

    @abstractmethod
    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Take up what was open at the checkpoint.

        ``read`` gives the records on the line at a byte offset.
        """

    def _leave_out(self, reason: str, count: int = 1) -> None:
        if count:
            self._left[reason] += count

    def _open(self) -> str:
        """What was begun and not ended, for a checkpoint."""
        return ""

    @abstractmethod
    def remember(self, record: Record, offset: int) -> None:
        """Take note of a record before the checkpoint, so that it is recognised when it is repeated."""

    @abstractmethod
    def _take(self, record: Record) -> None:
        """Take in one record whose time is noted."""

    def _say(self, blocks: Sequence[Block], kind: str, *, is_question: bool = True) -> None:
        """What the person says; the first of it is what the session is about."""
        self.turns.say("user", blocks, kind)
        current = self.turns.current
        if is_question and not self.question and current is not None and current.role == "user":
            self.question = current.text

    def _note_time(self, value: Any) -> None:
        at = moment(value)
        if at is not None:
            self.first = self.first or at
            self.last = at

    def _finished(self, turn: Turn) -> None:
        self._turns += 1
        self._report(turn)

    def _opened(self) -> tuple[str, str]:
        """Notes where a turn begins, and gives the date and the time of its heading."""
        before = self._earlier
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
        day, clock, self._before = self._heading(at, before)
        return day, clock

    @property
    def _earlier(self) -> datetime | None:
        """When the last turn was spoken, or the session began, as far as it is known."""
        return self.first if self._before is None and not self._turns else self._before

    def _heading(self, at: datetime, before: datetime | None) -> tuple[str, str, datetime]:
        """Date and time of a heading, and when its turn was spoken as a reader then has it."""
        is_needed = before is None or self.dates_all
        day = at.date().isoformat() if is_needed or before is None else day_to_write(at, before)
        clock = f"{at:%H:%M}"
        return day, clock, following(before or at, clock, day)


def _read_counts(written: str) -> dict[str, int]:
    """Counts as a checkpoint has them; what makes no sense is skipped."""
    parts = (part.rpartition(":") for part in written.split(","))
    return {reason: int(count) for reason, _, count in parts if reason and count.isdecimal()}


def text_of(value: Any, key: str) -> str:
    """A text field of a JSON object; empty when it is missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def object_of(value: Any, key: str) -> Record:
    """An object in a JSON object; an empty one when it is missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def list_of(value: Any, key: str) -> list[Any]:
    """A list in a JSON object; an empty one when it is missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def json_in(text: str | bytes) -> Any:
    """What a text says in JSON; ``None`` where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def number_of(value: Any, key: str) -> int:
    """A count in a JSON object; 0 when it is missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0
