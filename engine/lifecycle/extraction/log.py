"""The record of extractions: ``logs/extractions-YYYY-MM.jsonl``, a line a session and extractor, append-only.

It says which extractor, of which version and with which model and task, has read which bytes, so that nothing
is read twice; and which items came of it, so that another version adds only what is new, and a line that the
person has deleted stays away.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from engine.store.monthly import Added, AnotherFile, Mark, MonthlyLog, record_of
from engine.store.typed import typed
from engine.transcripts.days import moment

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "extractions"

MOST_FAILURES = 8
"""How often a reading fails before nobody but a person has it tried again; that takes four days."""
_WAIT = timedelta(minutes=45)
"""After the first failure, doubled by each further one."""

Status = Literal["extracted", "failed"]


@dataclass(frozen=True, slots=True)
class By:
    """What reads a session."""

    extractor: str
    version: str
    provider: str = ""  # empty where no model was asked; likewise those that follow
    model: str = ""
    task: str = ""  # digest of what the model was asked


@dataclass(frozen=True, slots=True)
class WrittenItem:
    """A line that was written."""

    id: str
    path: str  # workspace-relative
    line: str


@dataclass(frozen=True, slots=True)
class ExtractionRecord:
    """What came of one extractor's reading of one session."""

    at: str  # ISO 8601, UTC
    path: str  # of the session, workspace-relative
    sha256: str  # of its bytes
    by: By
    status: Status
    session: str = ""
    ids: tuple[str, ...] = ()  # of all items that it found, wherever they went
    items: tuple[WrittenItem, ...] = ()
    held: tuple[str, ...] = ()  # ids of those that wait for a person
    known: int = 0  # items that stood there already
    refused: tuple[str, ...] = ()  # a line for each part of a reply that could not be used
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0  # ``None`` if a price is unknown
    error: str = ""  # why it failed, or what of the session was not read


class ExtractionLog:
    """Writes and reads the record. Safe to use from several threads and processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._guard = threading.Lock()
        self._log = MonthlyLog(files, KIND, clock)
        self._marks: dict[str, Mark] = {}
        self._known: list[ExtractionRecord] = []

    def all(self) -> Sequence[ExtractionRecord]:
        """Every record, oldest first; lines that are cut or odd are passed over. Only what was added since
        is read.
        """
        with self._guard:
            try:
                self._read()
            except AnotherFile:
                self._marks, self._known = {}, []
                self._read()
            return tuple(self._known)

    def _read(self) -> None:
        months = self._log.stamp()
        if self._marks.keys() - {month.name for month in months}:
            raise AnotherFile
        for month in months:
            mark = self._marks.get(month.name, Mark())
            if mark.is_of(month):
                continue
            added = Added(self._files, month, mark)
            for line in added:
                with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
                    self._known.append(typed(ExtractionRecord, record_of(line) or {}))
            self._marks[month.name] = added.mark

    def append(self, records: Iterable[ExtractionRecord]) -> None:
        """Adds records; one that stands there already is not added again.

        Raises:
            WriteFailed, ReadOnly: Some are not recorded.
        """
        there = set(self.all())
        for record in records:
            if record not in there:
                self._log.append(asdict(record))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it is in, for a commit."""
        return tuple(month.name for month in self._log.stamp())


@dataclass(frozen=True, slots=True)
class Done:
    """What has been done already."""

    readings: frozenset[tuple[str, By]]  # sha256 of a session and what has read it
    ids: frozenset[str]  # of every item that was found
    failures: dict[tuple[str, By], list[str]] = field(default_factory=dict)  # when a reading failed

    def rests(self, sha256: str, by: By, now: datetime) -> bool:
        """Whether a reading has failed so lately, or so often, that it is left alone for now."""
        failed = self.failures.get((sha256, by), ())
        last = moment(failed[-1]) if failed else None
        if last is None:
            return False
        return len(failed) >= MOST_FAILURES or now - last < _WAIT * 2 ** (len(failed) - 1)


def done_in(records: Iterable[ExtractionRecord], since: str = "") -> Done:
    """What records say was done; those before ``since``, ISO 8601 in UTC, do not count."""
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
    """What tells a task from others; empty for none."""
    return hashlib.sha256(task.encode("utf-8", "replace")).hexdigest()[:12] if task else ""
