"""The log of jobs: ``logs/jobs-YYYY-MM.jsonl``, append-only (design 2).

The schedule reads its whole state from here: when a job was scheduled, the due times it has run for, and the
results. Records are numbered because a clock that is set back gives later records earlier times, possibly in
another month's file.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal, cast

from engine.lifecycle.schedule.job import By, JobRun, Result
from engine.store.cron import OFF, following, latest
from engine.store.monthly import AnotherFile, Mark, MonthlyLog, record_of
from engine.store.typed import typed
from engine.store.zone import local_day, moment_of

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "jobs"
MONTHS = 14
"""Monthly files that are read: enough for a job that runs once a year."""
KEPT_RUNS = 500
"""Runs kept in memory for each job."""

_SLACK = timedelta(minutes=1)
_MAX_SAID = 500
"""Maximum characters of a run's result."""


What = Literal["clock", "planned", "started", "ended", "fired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """A line of the log.

    ``clock``: the clock was set back. ``planned``: a job has this schedule from now on. ``started``,
    ``ended``: of run ``run``. ``fired``: a topic's trigger.
    """

    seq: int
    at: datetime
    what: What
    job: str = ""
    run: int = 0
    cron: str = ""
    zone: str = ""
    due: datetime | None = None
    by: By | None = None
    result: Result | None = None
    said: str = ""


@dataclass(slots=True)
class Past:
    """The history of a job."""

    cron: str = ""
    zone: str = ""
    since: datetime | None = None
    """Due times up to here are done; ``None`` if it was never scheduled."""
    begun: datetime | None = None
    """Start of the day on which it was last put on the schedule."""
    again: datetime | None = None
    """Due time of an interrupted run, which will be repeated."""
    runs: deque[JobRun] = field(default_factory=lambda: deque(maxlen=KEPT_RUNS))

    def due(self, now: datetime) -> datetime | None:
        """The due time to run for now, if any; the latest if several were missed."""
        if self.since is None:
            return None
        first = following(self.cron, self.since, self.zone)
        missed = None if first is None or first > now else latest(self.cron, self.since, now, self.zone)
        return self.again if missed is None or self._tries(missed) else missed

    def next(self, now: datetime) -> datetime | None:
        """The next due time, which may have passed; ``None`` for never."""
        found = self.due(now) or following(self.cron, max(now, self.since or now), self.zone)
        while found is not None and found > now and self._tries(found):
            found = following(self.cron, found, self.zone)
        return found

    @property
    def last(self) -> JobRun | None:
        """The last run that ended."""
        return next((run for run in reversed(self.runs) if run.end is not None), None)

    @property
    def done_until(self) -> datetime | None:
        """The due time of the last successful run, or the time it was scheduled."""
        well = next((run for run in reversed(self.runs) if run.result == "done"), None)
        at = None if well is None else well.due or well.start
        return max((each for each in (at, self.begun) if each is not None), default=None)

    def _tries(self, moment: datetime) -> int:
        """How often it ran for a due time: setting the clock back causes no further run."""
        return sum(run.due == moment for run in self.runs)

    def take(self, record: JobRecord) -> None:
        """Applies a record."""
        match record.what:
            case "planned":
                if self.cron in ("", OFF):
                    day = local_day(record.at, record.zone)
                    self.begun = moment_of(day, time.min, record.zone)
                self.cron, self.zone, self.since = record.cron, record.zone, record.at
                self.again = None
            case "clock":
                self.since = self.since and min(self.since, record.at)
            case "started" | "fired":
                run = JobRun(
                    id=record.seq, job=record.job, start=record.at, by=record.by or "command", due=record.due
                )
                if record.what == "fired":
                    run = replace(run, end=record.at, result="done", said="fired")
                self.runs.append(run)
                if record.due is not None:
                    self.since, self.again = record.at, None
            case "ended":
                self._end(record)

    def _end(self, record: JobRecord) -> None:
        for at in range(len(self.runs) - 1, -1, -1):  # nearly always the last
            run = self.runs[at]
            if run.id == record.run and run.end is None:
                result = record.result or "interrupted"
                self.runs[at] = replace(run, end=record.at, result=result, said=record.said)
                if result == "interrupted" and run.due is not None and self._tries(run.due) == 1:
                    self.again = run.due
                return


class JobLog:
    """Reads and writes the log. Thread-safe and safe across processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock
        self._months = MonthlyLog(files, KIND, clock)
        self._guard = threading.RLock()
        self._forget()
        self._news: deque[JobRecord] = deque(maxlen=KEPT_RUNS)

    def refresh(self) -> None:
        """Reads new records."""
        with self._guard:
            is_first = not self._marks
            try:
                found = self._added()
            except AnotherFile:
                self._forget()
                is_first, found = True, self._added()
            for record in sorted(found, key=lambda record: record.seq):
                self._take(record)
            if not is_first:
                self._news.extend(found)

    def news(self) -> tuple[JobRecord, ...]:
        """Records added by any process since the last call, or since the log was first read."""
        with self._guard:
            self.refresh()
            found = tuple(self._news)
            self._news.clear()
            return found

    def append(self, what: str, **fields: Any) -> JobRecord:
        """Adds a record.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock(), self._guard:
            self.refresh()
            said = " ".join(str(fields.pop("said", "")).split())[:_MAX_SAID]
            seq = 1 if self._last is None else self._last.seq + 1
            made = JobRecord(seq=seq, at=self._clock(), what=cast("What", what), said=said, **fields)
            tree = asdict(made)
            tree |= {name: at.isoformat() for name, at in tree.items() if isinstance(at, datetime)}
            self._months.append({name: value for name, value in tree.items() if value not in ("", 0, None)})
            self.refresh()
            return made

    def past(self, job: str) -> Past:
        """The history of a job."""
        with self._guard:
            known = self._pasts.get(job)
            return Past() if known is None else replace(known, runs=known.runs.copy())

    def names(self) -> set[str]:
        """All jobs that were ever scheduled."""
        with self._guard:
            return set(self._pasts)

    def runs(self, job: str = "") -> list[JobRun]:
        """Runs of one job or of all, newest first."""
        with self._guard:
            found = [run for name, past in self._pasts.items() if job in ("", name) for run in past.runs]
        return sorted(found, key=lambda run: run.id, reverse=True)

    def unended(self) -> list[JobRun]:
        """Runs without an end in the log."""
        with self._guard:
            return [run for past in self._pasts.values() for run in past.runs if run.end is None]

    def is_ahead(self, now: datetime) -> bool:
        """True if the last record is in the future: the clock was set back."""
        with self._guard:
            return self._last is not None and self._last.at > now + _SLACK

    def _forget(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._pasts: dict[str, Past] = {}
        self._last: JobRecord | None = None

    def _added(self) -> list[JobRecord]:
        return list(filter(None, map(_record, self._months.added(self._marks, MONTHS))))

    def _take(self, record: JobRecord) -> None:
        if self._last is None or record.seq > self._last.seq:
            self._last = record
        if record.what == "clock":
            for past in self._pasts.values():
                past.take(record)
        else:
            self._pasts.setdefault(record.job, Past()).take(record)


def _record(line: bytes) -> JobRecord | None:
    """The record in a line; ``None`` if damaged."""
    try:
        return typed(JobRecord, record_of(line) or {})
    except (ValueError, TypeError, KeyError):
        return None
