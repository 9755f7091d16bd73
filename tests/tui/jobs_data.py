"""A fake schedule with fixed jobs and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engine.lifecycle.schedule.job import By, JobRow, JobRun, Result
from engine.lifecycle.schedule.schedule import Schedule
from engine.store.cron import OFF, words

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine

NIGHT = datetime(2026, 6, 12, 3, 30, tzinfo=UTC)


def job_run(number: int, job: str, start: datetime, result: Result | None, said: str) -> JobRun:
    """A run that took two seconds; still running without a result."""
    end = None if result is None else start + timedelta(seconds=2.1)
    return JobRun(
        id=number, job=job, start=start, by="workbench", due=start, end=end, result=result, said=said
    )  # fmt: skip


RUNS = (
    job_run(1, "index", NIGHT - timedelta(days=2), "done", "4 files updated"),
    job_run(2, "index", NIGHT - timedelta(days=1), "interrupted", "the program exited"),
    job_run(3, "index", NIGHT, "done", "intact and up to date"),
    job_run(4, "probes", NIGHT - timedelta(days=5), "failed", "2 of 17 are lost; see: autopoiesis probe run"),
    job_run(5, "condense", NIGHT - timedelta(hours=4), "refused", "no key; set ANTHROPIC_API_KEY"),
    job_run(6, "backup", NIGHT + timedelta(hours=15), None, ""),
)


def job_row(
    name: str, does: str, cron: str, next: datetime | None, topic: str = "", refused: str = ""
) -> JobRow:
    """The row of a job, with its runs from ``RUNS``."""
    runs = [each for each in reversed(RUNS) if each.job == name]
    return JobRow(
        name=name, does=does, topic=topic, cron=cron, schedule=words(cron) + (", UTC" if topic else ""),
        next=next, last=newest(runs, ended=True), running=newest(runs, ended=False), refused=refused,
    )  # fmt: skip


def newest(runs: list[JobRun], *, ended: bool) -> JobRun | None:
    """The newest run that has ended, or that is still running."""
    return next((each for each in runs if (each.end is not None) == ended), None)


ROWS = (
    job_row("index", "Updates the search index, checks it for damage, and rebuilds it if damaged.",
        "30 3 * * *", NIGHT + timedelta(days=1)),
    job_row("trash", "Empties the trash of conversations.", OFF, None),
    job_row("probes", "Runs the probes of probes.yaml.", "0 4 * * 0", NIGHT - timedelta(days=4.9792)),
    job_row("condense", "Sums up the day.", "0 23 * * *", NIGHT + timedelta(hours=19.5),
        refused="the workspace is not trusted"),
    job_row("backup", "Pushes the workspace.", "0 * * * *", NIGHT + timedelta(hours=15.5)),
    job_row("topic:journal-daily", "Fires this schedule of topic journal-daily.", "0 22 * * *",
        NIGHT + timedelta(hours=18.5), "journal-daily"),
)  # fmt: skip


class FakeSchedule(Schedule):
    """Fixed jobs; calls are recorded."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.table: tuple[JobRow, ...] = ROWS
        self.holder: By | None = "serve"

    def close(self) -> None:
        """Does nothing."""

    def rows(self) -> tuple[JobRow, ...]:
        """Records the call."""
        self._engine.record("rows")
        return self.table

    def runs(self, name: str = "", limit: int = 100) -> tuple[JobRun, ...]:
        """The fixed runs of a job, newest first."""
        return tuple(each for each in reversed(RUNS) if each.job == name)

    def held_by(self) -> By | None:
        """The program that runs the schedule."""
        return self.holder

    def run(self, name: str, by: By, progress: Callable[[int, int], object] | None = None) -> JobRun:
        """Reports progress at half; blocks there while ``blocked["run"]`` is not set."""
        if progress is not None:
            progress(1200, 2400)
        self._engine.record("run", name, by)
        return job_run(9, name, NIGHT, "failed" if name == "trash" else "done", f"did {name}")

    def switched(self, name: str, cron: str | None) -> Mapping[str, str] | None:
        """Changes the cron expression of the job in the table."""
        self.table = tuple(
            replace(each, cron=cron or "0 3 * * *", schedule=words(cron or "0 3 * * *"), next=None)
            if each.name == name
            else each
            for each in self.table
        )
        return None if cron is None else {name: cron}
