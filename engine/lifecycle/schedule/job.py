"""A job, a run of it, and its state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from engine.store.zone import local_day

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
        self._end = time.monotonic() + deadline_s
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
        return time.monotonic() > self._end

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
    acts: bool = False
    """It sends, receives or runs something, and so requires a trusted workspace."""
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
    refused: str = ""
    """Why it cannot run now."""
