"""The append-only log of flushes (spec 6.4): ``logs/flushes-YYYY-MM.jsonl``, one line per flush.

A turn that is not in the log has not been flushed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.flush_record import FlushRecord, Status, record_in
from engine.flush.due import Recorded, digest
from engine.store.monthly import MonthlyLog

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation
    from engine.store.files import Files
    from engine.transcripts.turn import Turn

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

    def all(self) -> tuple[FlushRecord, ...]:
        """All records, grouped by conversation, oldest first. Malformed lines are skipped."""
        return tuple(record for records in self._read().values() for record in records)

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
