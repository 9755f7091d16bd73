"""Jobs, their runs, and their log: ``logs/jobs-YYYY-MM.jsonl``, append-only (design 2).

The schedule reads its whole state from the log: when a job was scheduled, the due times it has run for, and
the results. Records are numbered because a clock that is set back gives later records earlier times, possibly
in another month's file.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, time, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, cast

from engine.store.cron import OFF, following, latest
from engine.store.monthly import AnotherFile, Mark, MonthlyLog, record_of
from engine.store.typed import typed
from engine.store.zone import local_day, moment_of

if TYPE_CHECKING:
    from engine.store.files import Files

Result = Literal["done", "failed", "refused", "interrupted"]
"""``refused``: it will fail again until the user changes something."""

By = Literal["workbench", "watch", "serve", "hooks", "command"]
"""The kind of program that ran it."""

DEADLINE_S = 900.0

MAX_DAYS = 92
"""Maximum number of missed days that one run catches up on."""


class Stopped(Exception):
    """The job has to end: the program is exiting, or the deadline has passed."""


class Task:
    """The context of a job run.

    Args:
        due: The time the run is for, UTC; the latest if several were missed.
        zone: The time zone of the job's days.
        progress: Called with the amount done and the total.
        since: The due time of the last successful run, UTC, or the time the job was scheduled again; ``None``
            if there is none.
    """

    def __init__(
        self,
        due: datetime,
        zone: str = "",
        deadline_s: float = DEADLINE_S,
        progress: Callable[[int, int], object] | None = None,
        since: datetime | None = None,
    ) -> None:
        self.due = due
        self.zone = zone
        self.since = since
        self._progress = progress
        self._end = monotonic() + deadline_s
        self._stopped = False

    @property
    def day(self) -> date:
        """The day the run is for."""
        return local_day(self.due, self.zone)

    @property
    def days(self) -> tuple[date, ...]:
        """The days the run is for, in order, starting with the day of the last successful run, which may not
        have been over."""
        back = 0 if self.since is None else (self.day - local_day(self.since, self.zone)).days
        return tuple(self.day - timedelta(days=each) for each in range(min(max(back, 0), MAX_DAYS), -1, -1))

    @property
    def overdue(self) -> bool:
        """True once the deadline has passed."""
        return monotonic() > self._end

    @property
    def stopping(self) -> bool:
        """True if the run has to end."""
        return self._stopped or self.overdue

    def stop(self) -> None:
        """Requests the run to end."""
        self._stopped = True

    def tell(self, done: int, total: int) -> None:
        """Reports progress; long work calls this often.

        Raises:
            Stopped: The run has to end.
        """
        if self.stopping:
            raise Stopped
        if self._progress is not None:
            self._progress(done, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A scheduled job."""

    name: str
    """Hyphenated words; for topics with the prefix ``topic:``."""
    does: str
    """A description in one sentence."""
    cron: str
    """Default schedule, or ``off``; ``lifecycle.schedule`` overrides it."""
    run: Callable[[Task], str]
    """Runs it and returns the result as a clause; raises an engine error on failure."""
    topic: str = ""
    """The topic whose trigger this is, if any. Triggers fire at once, in UTC, and are not caught up on."""
    deadline_s: float = DEADLINE_S
    """Time limit for a run, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A run, from the log."""

    id: int
    job: str
    start: datetime
    by: By
    due: datetime | None = None
    """The time it was due; ``None`` if started by the user."""
    end: datetime | None = None
    """``None`` while it is running."""
    result: Result | None = None
    said: str = ""
    """The result as a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """The state of a job."""

    name: str
    does: str
    topic: str
    """The topic whose trigger this is; empty for a job."""
    cron: str
    """The effective expression, or ``off``."""
    schedule: str
    """The same in words."""
    next: datetime | None
    """When it is due next, UTC; in the past if it was missed. ``None`` for never."""
    last: JobRun | None
    """The last run that ended."""
    running: JobRun | None
    """The current run."""


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
