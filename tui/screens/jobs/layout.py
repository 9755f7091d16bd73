"""The jobs screen: scheduled jobs, their next runs, and the results of past ones (design 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.lanes import Lane
from tui.kit.list_detail import ListDetail, unreadable
from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.jobs.rows import JobItem, JobsPanel
from tui.screens.jobs.runs import RunsPage

if TYPE_CHECKING:
    from engine.lifecycle.schedule.job import By, JobRow, JobRun
    from engine.lifecycle.schedule.schedule import Schedule
    from tui.kit.bench import Bench

BROAD = 150
"""Minimum columns for the job next to the list."""
KEPT_RUNS = 200
"""Runs shown of each job."""
_RUNNERS: dict[By, str] = {
    "workbench": "the workbench runs the schedule",
    "watch": "autopoiesis watch runs the schedule",
    "serve": "autopoiesis serve runs the schedule",
    "hooks": "the background process of an agent's hooks runs the schedule",
}


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[JobRow, ...] = ()
    runs: Mapping[str, tuple[JobRun, ...]] = field(default_factory=dict)
    held_by: By | None = None
    problem: str = ""
    loading: bool = False


def read_table(schedule: Schedule) -> Table:
    rows = schedule.rows()
    return Table(rows, {row.name: schedule.runs(row.name, KEPT_RUNS) for row in rows}, schedule.held_by())


class JobsLayout(ListDetail):
    AUTO_FOCUS = "#jobs"
    CSS_PATH: ClassVar[CSSPathType | None] = "jobs.tcss"
    area = "schedule"
    news = frozenset({"status"})

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "jobs")
        engine = bench.engine
        self.table = Table(loading=True)
        self.doing: dict[str, str] = {}
        """Progress of the runs started here, by job."""
        self._reads: Lane[None, Table] = self.lane(
            lambda _none: read_table(engine.schedule),
            lambda _none, table: self._take(table),
            lambda _none, problem: self._take(Table(problem=problem)),
        )

    def body(self) -> ComposeResult:
        self.jobs = JobsPanel(id="jobs")
        self.runs = RunsPage(id="runs")
        with Container(id="schedule"):
            yield self.jobs
            yield self.runs

    def look(self) -> None:
        self._reads.ask(None)

    def handle_events(self, burst: Burst) -> None:
        if burst.jobs or burst.parts & self.news:
            self.look()

    # Display

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        return {**super().shape(shown), "-broad": self.app.size.width >= BROAD}

    def show(self) -> None:
        table, now = self.table, self.bench.clock.now()
        items = [
            JobItem(
                row,
                row.next is not None and row.next <= now,
                self.doing.get(row.name, ""),
                table.runs.get(row.name, ()),
            )
            for row in table.rows
        ]
        below = _RUNNERS.get(table.held_by, "") if table.held_by is not None else "nothing runs the schedule"
        self.jobs.show_jobs(items, self._note, (table.problem, table.loading), below if table.rows else "")
        self.show_job()

    def show_job(self) -> None:
        self.runs.show_item(self.jobs.selected)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        if self.table.problem:
            return unreadable("the schedule", self.table.problem, width, roles)
        return [Row(("reading …", roles.faint))]

    # Results

    def _take(self, table: Table) -> None:
        self.table = table
        self.show()

    @on(RowList.Moved)
    def _row_moved(self) -> None:
        self.show_job()
