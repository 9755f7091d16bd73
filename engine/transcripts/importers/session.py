"""What both kinds of session log have in common: who, when, how much, and the turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from engine.transcripts.days import day_to_write, following, moment
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.turns import TurnBuilder
from engine.transcripts.turn import Turn


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where the last turn begins. Everything before it is final, so a later reading can start here.

    Attributes:
        offset: Byte offset of the line that opened the turn.
        skip: JSON objects on that line that belong to what was before.
        turns: Turns before it.
        odd: Lines before it that could not be read whole.
        tokens_in: All tokens sent before it.
        tokens_out: All tokens received before it.
        reply: The model's reply being counted, as the log identifies it; its lines can surround the turn's
        start. reply_in: Tokens already counted for it, sent.
        reply_out: The same, received.
        minute: When the turn before was spoken, in minutes since the epoch, as a reader of the transcript has
            it; for the first turn, when the session started; 0 where it is not known.
    """

    offset: int = 0
    skip: int = 0
    turns: int = 0
    odd: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    reply: str = ""
    reply_in: int = 0
    reply_out: int = 0
    minute: int = 0


_EPOCH = datetime.fromtimestamp(0, UTC)

START = Checkpoint()
"""The beginning of a log."""


class SessionReader(ABC):
    """Turns the records of one session log into turns.

    Args:
        finished: Called with each turn that can no longer change.
        since: Where the reading starts.

    Attributes:
        session_id: As the log says; empty until it does.
        model: The first model seen.
        cwd: The first working directory seen.
        first: The first time seen, UTC.
        last: The last time seen, UTC.
        topic: What the log or the person calls the session; empty when neither does.
        renamed: Whether ``topic`` was given by the person.
        question: The first words of the user.
        odd: Lines so far that could not be read whole.
        tokens_in: All tokens sent so far.
        tokens_out: All tokens received so far.
        checkpoint: Where the last turn begins.
        memory_bytes: Within which distance a repeated record is recognised.
        dates_all: Whether every turn is given its date, and not only where the day changes.
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
        self.tokens_in = since.tokens_in
        self.tokens_out = since.tokens_out
        self.checkpoint = since
        self._report = finished
        self._offset, self._place = since.offset, since.skip
        self._turns = since.turns
        self._reply = (since.reply, since.reply_in, since.reply_out)
        self.dates_all = False
        # Known of the turn before, and kept up as a reader of the headings has it.
        self._before = _EPOCH + timedelta(minutes=since.minute) if since.minute else None
        self.turns = TurnBuilder(self._finished, self._opened)

    @property
    def total(self) -> int:
        """Turns so far, the last one included."""
        return self._turns + (self.turns.current is not None)

    def feed(self, record: Record, offset: int, place: int = 0) -> None:
        """Take in one record.

        Args:
            record: A JSON object of the log.
            offset: Byte offset of its line.
            place: How many objects precede it on that line.
        """
        self._offset, self._place = offset, place
        self._note_time(record.get("timestamp"))
        self._take(record)

    @abstractmethod
    def remember(self, record: Record, offset: int) -> None:
        """Take note of a record before the checkpoint, so that it is recognised when it is repeated."""

    @abstractmethod
    def _take(self, record: Record) -> None:
        """Take in one record whose time is noted."""

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
        at = self.last or _EPOCH
        before = self._before
        if before is None and not self._turns:
            before = self.first
        self.checkpoint = Checkpoint(
            self._offset,
            self._place,
            self._turns,
            self.odd,
            self.tokens_in,
            self.tokens_out,
            *self._reply,
            minute=int((before - _EPOCH).total_seconds()) // 60 if before is not None else 0,
        )
        is_needed = before is None or self.dates_all
        day = at.date().isoformat() if is_needed or before is None else day_to_write(at, before)
        clock = f"{at:%H:%M}"
        self._before = following(before or at, clock, day)
        return day, clock


def text_of(value: Any, key: str) -> str:
    """A text field of a JSON object; empty when it is missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def number_of(value: Any, key: str) -> int:
    """A count in a JSON object; 0 when it is missing or of another type."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0
