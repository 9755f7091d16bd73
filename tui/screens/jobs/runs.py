"""One job: what it does, its schedule, and its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.kit.panel import LinesPanel
from tui.render.draw import Row, labelled, wrap
from tui.render.figures import local, milliseconds
from tui.render.roles import Roles
from tui.screens.jobs.rows import RUNNING, SIGNS, JobItem, style_of

if TYPE_CHECKING:
    from datetime import datetime

    from engine.lifecycle.schedule.job import JobRun

_LABEL = 9


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
        ("refused", row.refused, roles.error),
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


class RunsPage(LinesPanel):
    name_of = "runs"
    number = "2"
    words = "job"
    signs = (*SIGNS.values(), (RUNNING, "running"))

    item: JobItem | None = None

    def show_item(self, item: JobItem | None) -> None:
        if item == self.item:
            return
        other = item is None or self.item is None or item.row.name != self.item.row.name
        self.item = item
        self.changed()
        if other:
            self.scroll_to(y=0, animate=False, force=True)
        self.summarise()

    def draw(self, width: int, height: int) -> list[Row]:
        if self.item is None:
            return [Row(("no job is selected", self.roles.faint))]
        return draw_page(self.item, width, self.roles)

    def summarise(self) -> None:
        self.set_frame(self.item.row.name if self.item is not None else "")
