"""The jobs screen: scheduled jobs, their next runs, and the results of past ones (design 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container

from engine.store.cron import OFF
from tui.kit.command import Need, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.full_screen import ListDetail, committed, unreadable
from tui.kit.lanes import Lane
from tui.kit.messages import Burst
from tui.render.draw import Row
from tui.render.figures import count
from tui.render.roles import Roles
from tui.screens.jobs.draw import JobItem, JobsPanel, RunsPage, draw_page

if TYPE_CHECKING:
    from engine.lifecycle.schedule.job import By, JobRow, JobRun
    from engine.lifecycle.schedule.schedule import Schedule
    from engine.settings.editing import SettingChange
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


A_JOB = Need(lambda here: here.item, "no job is selected")
NOT_RUNNING = Need(lambda here: not (here.item and here.item.running), "the job is already running")
OWN_SCHEDULE = Need(
    lambda here: not (here.item and here.item.row.topic), "its schedule is set in its topic; e opens it"
)
A_FILE = Need(lambda here: here.file, "the job does not belong to a topic")


class JobsScreen(ListDetail, panels=("jobs", "runs")):
    area = "schedule"
    news = frozenset({"status"})
    broad = BROAD

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        engine = bench.engine
        self.table = Table(loading=True)
        self.doing: dict[str, str] = {}
        """Progress of the runs started here, by job."""
        self._reads = self.plain_lane(
            lambda: read_table(engine.schedule),
            self._take,
            lambda problem: self._take(Table(problem=problem)),
        )
        self._runs: Lane[str, JobRun] = self.lane(
            lambda name: bench.engine.schedule.run(name, "workbench", partial(self._progress, name)),
            self._ran,
            self._refused,
            in_turn=True,
        )
        self._switches: Lane[tuple[str, str | None], SettingChange] = self.lane(
            lambda request: bench.engine.configuration.change(
                "lifecycle.schedule", bench.engine.schedule.switched(*request)
            ),
            self._switched,
            in_turn=True,
            finish=True,
        )

    def body(self) -> ComposeResult:
        self.jobs = JobsPanel(id="jobs")
        self.runs = RunsPage(id="runs")
        yield Container(self.jobs, self.runs, id="schedule")

    def look(self) -> None:
        self._reads.ask(None)

    def handle_events(self, burst: Burst) -> None:
        if burst.jobs or burst.parts & self.news:
            self.look()

    # Display

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
        self.jobs.below = below if table.rows else ""
        self.jobs.show_items(items, self._note, (table.problem, table.loading))
        self.show_selected()

    def show_selected(self) -> None:
        item = self.jobs.selected
        name = item.row.name if item is not None else ""
        self.runs.show_drawing(partial(draw_page, item) if item is not None else None, name, name)
        self.update_footer()

    def _note(self, width: int, roles: Roles) -> list[Row]:
        if self.table.problem:
            return unreadable("the schedule", self.table.problem, width, roles)
        return [Row(("reading …", roles.faint))]

    # Results

    def _take(self, table: Table) -> None:
        self.table = table
        self.show()

    # Navigation

    focus_jobs = goes_to("jobs", "1", "the jobs")
    focus_runs = goes_to("runs", "2", "the selected job", ": what it does, its schedule and its runs")

    @command("enter l", "Read the job's log", "log", 0, panels=["jobs"], needs=[A_JOB])
    def read_log(self) -> None:
        """Read the results of the job's runs, newest first; on small screens over the whole area."""
        self.go_to("runs")

    # The selected job

    @property
    def item(self) -> JobItem | None:
        return self.jobs.selected

    @command("r", "Run the job now", "run now", 2, needs=[A_JOB, NOT_RUNNING, WRITABLE])
    def run_now(self) -> None:
        """Run the selected job now; its scheduled runs are not affected."""
        item = self.jobs.selected
        if item is not None:
            self.doing[item.row.name] = "starting …"
            self._runs.ask(item.row.name)
            self.show()

    def _progress(self, name: str, done: int, total: int) -> None:
        self.doing[name] = f"{count(done)} of {count(total)} …"
        self.later(self.show)

    def _ran(self, name: str, run: JobRun) -> None:
        self.doing.pop(name, None)
        self.say(f"{name} {run.result}: {run.said}", error=run.result != "done")
        self.look()

    def _refused(self, name: str, problem: str) -> None:
        self.doing.pop(name, None)
        self.say(problem, error=True)
        self.look()

    @command("o", "Turn the job off or on", "off/on", 4, needs=[A_JOB, OWN_SCHEDULE, WRITABLE])
    def switch(self) -> None:
        """Turn the selected job off, or on again at its default schedule, in memory-config.yaml."""
        item = self.jobs.selected
        if item is not None:
            self._switches.ask((item.row.name, None if item.row.cron == OFF else OFF))

    def _switched(self, request: tuple[str, str | None], change: SettingChange) -> None:
        self.say(f"{request[0]} is {'off' if request[1] else 'on'}; {committed(change.commit, change.why)}")
        self.look()

    @command("e", "Edit the job's topic", "edit", 8, needs=[A_FILE])
    def edit(self) -> None:
        """Open the selected job's topic in $VISUAL or $EDITOR."""
        self.edit_file(self.file)
        self.look()

    @command("y", "Copy the job", "copy", 18, needs=[A_JOB])
    def copy_it(self) -> None:
        """Copy the selected job's row, or the job's whole page if that has the focus."""
        self.copy_text(self.panel_named(self.panel_in_use).selected_text())

    @property
    def file(self) -> str:
        """The file of the topic that defines the selected job."""
        topic = self.item.row.topic if self.item is not None else ""
        return self.existing(f"topics/{topic}.md") if topic else ""
