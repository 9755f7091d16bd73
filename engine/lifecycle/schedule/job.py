"""A job, one run of it, and how it stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from engine.store.zone import local_day

Result = Literal["done", "failed", "refused", "interrupted"]
"""``refused``: the same would fail again until a person changes something."""

By = Literal["workbench", "watch", "serve", "hooks", "command"]
"""What kind of program ran it."""

DEADLINE_S = 900.0

MOST_DAYS = 92
"""Days that one run makes up for."""


class Stopped(Exception):
    """A job is to end: the program is left, or its time is up."""


class Task:
    """What a run of a job is told, and what it tells.

    Args:
        due: The moment that it is for, UTC; of several that were missed the last.
        zone: Whose days count.
        progress: Takes how much is done, of how much.
        since: The moment that its last run which went well was for, UTC, or at which it was put on the
            schedule again; ``None`` where there was no such run.
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
        self._left = False

    @property
    def day(self) -> date:
        """The day that it is for."""
        return local_day(self.due, self.zone)

    @property
    def days(self) -> tuple[date, ...]:
        """The days that it is for, the last one last: all since the last run that went well. The day of that
        run is among them, since it may not have been over."""
        back = 0 if self.since is None else (self.day - local_day(self.since, self.zone)).days
        return tuple(self.day - timedelta(days=each) for each in range(min(max(back, 0), MOST_DAYS), -1, -1))

    @property
    def overdue(self) -> bool:
        """Whether its time is up."""
        return time.monotonic() > self._end

    @property
    def stopping(self) -> bool:
        """Whether it is to end."""
        return self._left or self.overdue

    def stop(self) -> None:
        """Asks it to end."""
        self._left = True

    def tell(self, done: int, total: int) -> None:
        """Says how far it is; long work calls this often.

        Raises:
            Stopped: It is to end.
        """
        if self.stopping:
            raise Stopped
        if self._progress is not None:
            self._progress(done, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something that is done by the clock."""

    name: str
    """A word or words with hyphens; those of topics begin with ``topic:``."""
    does: str
    """What it does, in a sentence."""
    cron: str
    """When, unless ``lifecycle.schedule`` says otherwise; or ``off``."""
    run: Callable[[Task], str]
    """Does it and says in a clause what came of it; fails as engines do."""
    acts: bool = False
    """Whether it sends, takes in or runs something: then it runs only where the workspace is trusted."""
    topic: str = ""
    """The topic whose trigger it is: that fires at once, and what was missed while nothing ran is past. Its
    zone is UTC."""
    deadline_s: float = DEADLINE_S
    """How long a run may take, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A run, as the log has it."""

    id: int
    job: str
    start: datetime
    by: By
    due: datetime | None = None
    """The moment that it was for; ``None`` for one that a person wanted."""
    end: datetime | None = None
    """``None`` while it is under way."""
    result: Result | None = None
    said: str = ""
    """What came of it, in a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """How a job stands."""

    name: str
    does: str
    topic: str
    """The topic whose trigger it is; empty for a job."""
    cron: str
    """The expression that counts, or ``off``."""
    schedule: str
    """The same in words."""
    next: datetime | None
    """When it is due next, UTC: a moment that was missed lies behind. ``None`` for never."""
    last: JobRun | None
    """Its last run that ended."""
    running: JobRun | None
    """The run that is under way."""
    refused: str = ""
    """Why it would not run now."""
