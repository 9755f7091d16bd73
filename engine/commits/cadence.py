"""When changes are committed while a workspace is followed (spec 3.2): at intervals, and at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.commits.commits import Commits
from engine.commits.report import CommitReport
from engine.errors import AutopoiesisError, RepositoryError
from engine.settings.git import GitSettings
from engine.store.paths import shown
from engine.store.repository import Repository

QUIET_S = 5.0
"""Seconds since its last change up to which a file is taken to be still edited."""

AGAIN = timedelta(minutes=1)
"""How soon it is tried again where the repository could not take a commit."""

_SILENT = ("none", "no-git")
"""What a person has chosen, and screens show all the time."""


@dataclass(eq=False)
class Cadence:
    """Says when a batch is due, and commits it. Used from one thread at a time.

    The first look, right at the beginning, takes what an earlier run has left behind: what was changed longer
    ago than an interval. ``tell`` gets what stands in the way, each thing once while it does.
    """

    commits: Commits
    repository: Callable[[], Repository]
    settings: Callable[[], GitSettings]
    clock: Callable[[], datetime]
    tell: Callable[[str], None]
    _last: datetime | None = field(default=None, init=False)
    _again: bool = field(default=False, init=False)
    _told: set[str] = field(default_factory=set, init=False)

    @property
    def interval(self) -> timedelta:
        """Between two batches; zero for none at all."""
        settings = self.settings()
        return timedelta(minutes=settings.commit_interval_minutes * settings.auto_commit)

    def is_due(self) -> bool:
        """Whether the clock says that it is time."""
        interval, now = self.interval, self.clock()
        if not interval:
            return False
        if self._last is None or self._last > now:  # the clock was set back
            return True
        return now - self._last >= (min(AGAIN, interval) if self._again else interval)

    def look(self) -> CommitReport:
        """Commits what has been left alone for a while; what went wrong is told, and tried again soon."""
        quiet_s = self.interval.total_seconds() if self._last is None else QUIET_S
        self._last = self.clock()
        report = self._committed(quiet_s=quiet_s, ask=True)
        self._again = report is None
        return report or CommitReport()

    def close(self) -> CommitReport:
        """Commits all that may be, at once, and asks no model."""
        return (self._committed(quiet_s=0.0, ask=False) if self.interval else None) or CommitReport()

    def _committed(self, *, quiet_s: float, ask: bool) -> CommitReport | None:
        """What came of a look; ``None`` where the repository, or the disk, was in the way."""
        try:
            report = self.commits.commit(quiet_s=quiet_s, ask=ask, by_hand=False)
        except AutopoiesisError as error:
            state = self.repository().state(count=False)
            if state.kind in _SILENT:
                return CommitReport()
            # How old a lock is changes with every look.
            kind = state.kind if isinstance(error, RepositoryError) and not state.can_commit else str(error)
            self._tell({kind: f"changes are not committed: {error}"})
            return None
        left = [f"{shown(each.path)} is not committed: {each.why}" for each in report.refused]
        self._tell(dict(zip(left, left, strict=True)))
        return report

    def _tell(self, errors: dict[str, str]) -> None:
        for key, text in errors.items():
            if key not in self._told:
                self.tell(text)
        self._told = set(errors)
