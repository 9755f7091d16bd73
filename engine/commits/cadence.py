"""Decides when changes are committed in the background (spec 3.2): at intervals, and when the workspace
closes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from engine.commits.commits import Commits
from engine.commits.gathering import CommitReport
from engine.errors import AutopoiesisError, RepositoryError
from engine.settings.git import GitSettings
from engine.store.paths import shown
from engine.store.repository import Repository

QUIET_S = 5.0
"""Seconds after its last change during which a file counts as being edited."""

RETRY = timedelta(minutes=1)
"""Delay before a retry if the repository could not take a commit."""

_SILENT = ("none", "no-git")
"""Repository states that are not reported: the person chose them, and screens always show them."""


@dataclass(eq=False)
class Cadence:
    """Commits a batch whenever one is due. Used from one thread at a time.

    The first call of ``commit_batch`` commits what an earlier run left behind: files unchanged for an
    interval. ``report_problem`` gets each problem once while it persists.
    """

    commits: Commits
    repository: Callable[[], Repository]
    settings: Callable[[], GitSettings]
    clock: Callable[[], datetime]
    report_problem: Callable[[str], None]
    _last: datetime | None = field(default=None, init=False)
    _retry: bool = field(default=False, init=False)
    _reported: set[str] = field(default_factory=set, init=False)

    @property
    def interval(self) -> timedelta:
        """Time between two batches; zero turns them off."""
        settings = self.settings()
        return timedelta(minutes=settings.commit_interval_minutes * settings.auto_commit)

    def is_due(self) -> bool:
        interval, now = self.interval, self.clock()
        if not interval:
            return False
        if self._last is None or self._last > now:  # the clock was set back
            return True
        return now - self._last >= (min(RETRY, interval) if self._retry else interval)

    def commit_batch(self) -> CommitReport:
        """Commits files that have not changed for a while; after an error, the next attempt is due soon."""
        quiet_s = self.interval.total_seconds() if self._last is None else QUIET_S
        self._last = self.clock()
        report = self._committed(quiet_s=quiet_s, ask=True)
        self._retry = report is None
        return report or CommitReport()

    def close(self) -> CommitReport:
        """Commits everything that may be committed, without asking a model."""
        return (self._committed(quiet_s=0.0, ask=False) if self.interval else None) or CommitReport()

    def _committed(self, *, quiet_s: float, ask: bool) -> CommitReport | None:
        """The result; ``None`` if the repository or the disk prevented a commit."""
        try:
            report = self.commits.commit(quiet_s=quiet_s, ask=ask, by_hand=False)
        except AutopoiesisError as error:
            state = self.repository().state(count=False)
            if state.kind in _SILENT:
                return CommitReport()
            # The message may contain the age of a lock, which changes with every attempt.
            kind = state.kind if isinstance(error, RepositoryError) and not state.can_commit else str(error)
            self._report({kind: f"changes are not committed: {error}"})
            return None
        left = [f"{shown(each.path)} is not committed: {each.why}" for each in report.refused]
        self._report({text: text for text in (*left, *report.warnings)})
        return report

    def _report(self, errors: dict[str, str]) -> None:
        for key, text in errors.items():
            if key not in self._reported:
                self.report_problem(text)
        self._reported = set(errors)
