"""The record of extractions: ``logs/extractions-YYYY-MM.jsonl``, append-only.

A line for each session and extractor records which version, model and task read which bytes, so that nothing
is read twice; and which items were found, so that a new version only adds new ones and lines that the user
deleted do not return.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from engine.store.monthly import AnotherFile, Mark, MonthlyLog, record_of
from engine.store.typed import typed
from engine.transcripts.days import moment

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "extractions"

MAX_FAILURES = 8
"""Failures, over about four days, after which a reading is only retried on request."""
_BACKOFF = timedelta(minutes=45)
"""Wait after the first failure; doubled by each further one."""

Status = Literal["extracted", "failed"]


@dataclass(frozen=True, slots=True)
class By:
    """Identifies an extractor with its version, model and task."""

    extractor: str
    version: str
    provider: str = ""  # empty without a model; likewise the next two
    model: str = ""
    task: str = ""  # digest of the task


@dataclass(frozen=True, slots=True)
class WrittenItem:
    """A written line."""

    id: str
    path: str  # workspace-relative
    line: str


@dataclass(frozen=True, slots=True)
class ExtractionRecord:
    """The result of one extractor reading one session."""

    at: str  # ISO 8601, UTC
    path: str  # of the session, workspace-relative
    sha256: str  # of its bytes
    by: By
    status: Status
    session: str = ""
    ids: tuple[str, ...] = ()  # of all items found
    items: tuple[WrittenItem, ...] = ()
    held: tuple[str, ...] = ()  # ids of items pending review
    known: int = 0  # items that already existed
    refused: tuple[str, ...] = ()  # a line for each rejected part of a reply
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0  # ``None`` if a price is unknown
    error: str = ""  # why it failed, or which parts were not read


class ExtractionLog:
    """Reads and writes the record. Thread-safe and safe across processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._guard = threading.Lock()
        self._log = MonthlyLog(files, KIND, clock)
        self._marks: dict[str, Mark] = {}
        self._known: list[ExtractionRecord] = []

    def all(self) -> Sequence[ExtractionRecord]:
        """Every record, oldest first, without damaged lines. Reads only lines added since the last call."""
        with self._guard:
            try:
                self._read()
            except AnotherFile:
                self._marks, self._known = {}, []
                self._read()
            return tuple(self._known)

    def _read(self) -> None:
        for line in self._log.added(self._marks):
            with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                self._known.append(typed(ExtractionRecord, record_of(line) or {}))

    def append(self, records: Iterable[ExtractionRecord]) -> None:
        """Adds records that are not there yet.

        Raises:
            WriteFailed, ReadOnly: Some were not recorded.
        """
        there = set(self.all())
        for record in records:
            if record not in there:
                self._log.append(asdict(record))

    @property
    def paths(self) -> tuple[str, ...]:
        """Its files, for a commit."""
        return tuple(month.name for month in self._log.stamp())


@dataclass(frozen=True, slots=True)
class Done:
    """Work already done."""

    readings: frozenset[tuple[str, By]]  # sha256 of a session, and its reader
    ids: frozenset[str]  # of every item found
    failures: dict[tuple[str, By], list[str]] = field(default_factory=dict)  # times of failed readings

    def is_backing_off(self, sha256: str, by: By, now: datetime) -> bool:
        """True if a reading has failed too recently or too often to be retried now."""
        failed = self.failures.get((sha256, by), ())
        # A failure in the future was recorded while the clock was wrong.
        last = max((at for at in map(moment, failed) if at is not None and at <= now), default=None)
        if len(failed) >= MAX_FAILURES:
            return True
        return last is not None and now - last < _BACKOFF * 2 ** (len(failed) - 1)


def done_in(records: Iterable[ExtractionRecord], since: str = "") -> Done:
    """The work done according to records, ignoring those before ``since``, ISO 8601 in UTC."""
    counting = [record for record in records if record.at >= since]
    failures: dict[tuple[str, By], list[str]] = {}
    for record in counting:
        if record.status == "failed":
            failures.setdefault((record.sha256, record.by), []).append(record.at)
    return Done(
        frozenset((record.sha256, record.by) for record in counting if record.status == "extracted"),
        frozenset(name for record in counting for name in record.ids),
        failures,
    )


def digest_of(task: str) -> str:
    """A short digest that identifies a task; empty for no task."""
    return hashlib.sha256(task.encode("utf-8", "replace")).hexdigest()[:12] if task else ""
