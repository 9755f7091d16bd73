"""How jobs and their runs are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style

from engine.store.cron import OFF
from tui.kit.panel import DrawingPanel
from tui.kit.rows import KeyedRows
from tui.render.draw import Row, labelled, wrap
from tui.render.figures import clock, count, day, local, milliseconds
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from datetime import datetime

    from engine.lifecycle.schedule.job import JobRow, JobRun, Result

SIGNS: dict[Result, tuple[str, str]] = {
    "done": ("✓", "done"),
    "failed": ("!", "failed"),
    "refused": ("⊘", "refused"),
    "interrupted": ("~", "interrupted"),
}
RUNNING, NEVER = "▸", "○"
WORDED = 100
"""Minimum width for the schedule in words."""
_NEXT, _NAME, _TIMES = 11, 24, 34
_LABEL = 9


@dataclass(frozen=True, slots=True)
class JobItem:
    row: JobRow
    missed: bool = False
    """Its next run is overdue."""
    doing: str = ""
    """Progress of a run started here; empty if there is none."""
    runs: tuple[JobRun, ...] = ()
    """Its latest runs, newest first."""

    @property
    def running(self) -> bool:
        """Whether it is running, here or in another process."""
        return bool(self.doing) or self.row.running is not None

    @property
    def status(self) -> str:
        """The progress of the current run, or the result of the last."""
        run = self.row.running
        if self.doing or run is not None:
            return self.doing or (f"since {clock(run.start)}, by {run.by}" if run is not None else "")
        return self.row.last.said if self.row.last is not None else "never run"


def style_of(result: Result | None, roles: Roles) -> Style:
    if result is None:
        return roles.accent
    return {"done": roles.active, "failed": roles.error, "refused": roles.gate}.get(result, roles.dropped)


def sign_of(item: JobItem, roles: Roles) -> tuple[str, Style]:
    if item.running:
        return RUNNING, roles.accent
    last = item.row.last
    if last is None or last.result is None:
        return NEVER, roles.faint
    return SIGNS[last.result][0], style_of(last.result, roles)


def next_text(item: JobItem) -> str:
    """``06-13 03:30``, ``due now``, ``running``, ``off``."""
    if item.running:
        return "running"
    if item.row.next is None:
        return "off" if item.row.cron == OFF else "never"
    return "due now" if item.missed else f"{day(item.row.next)} {clock(item.row.next)}"


def draw_job(item: JobItem, items: Sequence[JobItem], width: int, roles: Roles, *, chosen: bool) -> Row:
    """A row: sign, name, next run, the schedule if wide, and the status."""
    row, sign = Row(), sign_of(item, roles)
    row.add(f"{sign[0]} ", sign[1])
    name = min(_NAME, max((cell_len(first_line(each.row.name)) for each in items), default=_NAME))
    off = item.row.next is None
    row.fit(first_line(item.row.name), name, roles.strong if chosen else roles.muted if off else roles.normal)
    row.gap(2).fit(next_text(item), _NEXT, roles.gate if item.missed or item.running else roles.muted)
    if width >= WORDED:
        times = min(_TIMES, max(cell_len(each.row.schedule) for each in items))
        row.gap(2).fit("" if off else first_line(item.row.schedule), times, roles.faint)
    last = item.row.last
    has_failed = last is not None and last.result == "failed" and not item.running
    return row.gap(2).add(first_line(item.status), roles.error if has_failed else roles.muted).cut(width)


class JobsPanel(KeyedRows[JobItem], panel="jobs", number="1"):
    """One job per row; the lower edge says what runs the schedule."""

    always_lit = True
    aligned = True
    signs = (
        *SIGNS.values(),
        (RUNNING, "running"),
        (NEVER, "never run"),
    )

    def key(self, item: JobItem) -> str:
        return item.row.name

    def row(self, item: JobItem, width: int, chosen: bool) -> Row:
        return draw_job(item, self.items, width, self.roles, chosen=chosen)

    def summarise(self) -> None:
        failed = sum(item.row.last is not None and item.row.last.result == "failed" for item in self.items)
        parts = [count(self.row_count), f"{count(failed)} failed" if failed else ""]
        self.set_frame(" · ".join(filter(None, parts)) if self.items else "", self.below)

    def text_of(self, item: JobItem) -> str:
        return " ".join((item.row.name, item.row.cron, next_text(item), item.status))


def draw_page(item: JobItem, width: int, roles: Roles) -> list[Row]:
    """Draws a job, then its runs, newest first."""
    row = item.row
    cron = "" if row.schedule == row.cron else f"  ({row.cron})"
    when = "never" if row.next is None else minute(row.next)
    if item.missed:
        when += ", missed: runs once as soon as the schedule is active"
    facts = (
        ("schedule", f"{row.schedule}{cron}", roles.normal),
        ("next", when, roles.gate if item.missed else roles.normal),
        ("running", item.status if item.running else "", roles.accent),
    )
    rows = [*wrap([(row.does, roles.normal)], width), Row()]
    for label, text, style in facts:
        if text:
            rows += labelled(label, text, width, _LABEL, style, tone=roles.muted)
    rows.append(Row())
    if not item.runs:
        return [*rows, Row(("never run", roles.muted))]
    return [*rows, *(line for run in item.runs for line in _run(run, width, roles))]


def _run(run: JobRun, width: int, roles: Roles) -> list[Row]:
    if run.result is None:
        sign, word = RUNNING, "running"
    else:
        sign, word = SIGNS[run.result]
    how = "" if run.due is not None else ", manual"
    took = (
        f", {milliseconds(1000 * span.total_seconds())}" if run.end and (span := run.end - run.start) else ""
    )
    return wrap(
        [(f"{sign} ", style_of(run.result, roles)), (minute(run.start), roles.muted),
         (f"  {word}", style_of(run.result, roles)), (f"  {run.by}{how}{took}  ", roles.faint),
         (run.said, roles.normal)],
        width, indent=2,
    )  # fmt: skip


def minute(at: datetime) -> str:
    """Local time to the minute."""
    return f"{local(at):%Y-%m-%d %H:%M}"


class RunsPage(DrawingPanel, panel="runs", number="2", words="job"):
    signs = (*SIGNS.values(), (RUNNING, "running"))
    nothing = "no job is selected"
