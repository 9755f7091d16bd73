"""``jobs``: scheduled jobs, when they run next, and how they last ended."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from engine.store.zone import local_time
from tui.cli.base import commit_text, emit, emit_json, emit_problems, group, invocation, json_option, table
from tui.cli.search import progress

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.schedule.job import JobRow, JobRun

RUNNERS = {
    "workbench": "the workbench",
    "watch": "autopoiesis watch",
    "serve": "autopoiesis serve",
    "hooks": "the background process of an agent's hooks",
}
IDLE = "the schedule is not running: it runs while the workbench, `autopoiesis watch` or `serve` is running"


@group(
    "autopoiesis jobs",
    "autopoiesis jobs run index",
    "autopoiesis jobs set probes '0 6 * * 1-5'",
    invoke_without_command=True,
)
@json_option
@click.pass_context
def jobs(context: click.Context, as_json: bool) -> None:
    """List scheduled jobs: when each is due next, and how it last ended.

    The times are set by lifecycle in memory-config.yaml, in your time zone; those of topics are in UTC.
    """
    if context.invoked_subcommand is None:
        with invocation().engine() as engine:
            _list(engine, as_json)


def _list(engine: Engine, as_json: bool) -> None:
    schedule = engine.schedule
    rows, held_by = schedule.rows(), schedule.held_by()
    if as_json:
        emit_json({"held_by": held_by, "jobs": rows})
    else:
        cells = [
            [
                row.name,
                row.schedule,
                _next(engine, row),
                *((_when(engine, row.last.start), _result(row.last)) if row.last else ("never", "")),
            ]
            for row in rows
        ]
        table(cells, ["job", "schedule", "next", "last", "result"])
        emit(IDLE if held_by is None else f"{RUNNERS.get(held_by, held_by)} runs the schedule")
    emit_problems(schedule.problems())


@jobs.verb("run", "autopoiesis jobs run index", "autopoiesis jobs run topic:evening --json")
@click.argument("name")
def jobs_run(engine: Engine, name: str, as_json: bool) -> int:
    """Run a job now, whatever its schedule. Exit 1 if it fails."""
    with progress(name) as report:
        run = engine.schedule.run(name, "command", report)
    if as_json:
        emit_json(run)
    else:
        emit(f"{run.job} {run.result}: {run.said}")
    return 0 if run.result == "done" else 1


@jobs.verb("log", "autopoiesis jobs log", "autopoiesis jobs log index --limit 5")
@click.argument("name", default="")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many runs.")
def jobs_log(engine: Engine, name: str, limit: int, as_json: bool) -> None:
    """Show the last runs of all jobs, or of job NAME, newest first."""
    runs = engine.schedule.runs(name, limit)
    if as_json:
        emit_json(runs)
    elif not runs:
        emit("nothing has run yet")
    else:
        rows = [[_when(engine, run.start), run.job, run.by, _due(engine, run), _result(run)] for run in runs]
        table(rows, ["started", "job", "by", "due", "result"])


@jobs.verb("set", "autopoiesis jobs set index '0 4 * * *'", "autopoiesis jobs set probes off")
@click.argument("name")
@click.argument("times")
def jobs_set(engine: Engine, name: str, times: str) -> None:
    """Change a job's TIMES: a cron expression, `off`, or `default`."""
    wanted = engine.schedule.switched(name, None if times == "default" else times)
    change = engine.configuration.change("lifecycle.schedule", wanted)
    row = engine.schedule.row(name)
    emit(f"{name}: {row.schedule}, next {_next(engine, row)} ({commit_text(change.commit, change.why)})")


def _when(engine: Engine, at: datetime) -> str:
    return f"{local_time(at, engine.config.days.time_zone):%Y-%m-%d %H:%M}"


def _next(engine: Engine, row: JobRow) -> str:
    if row.running is not None:
        return "running"
    if row.next is None:
        return "off" if row.cron == "off" else "never"
    at = _when(engine, row.next)
    return f"due since {at}" if row.next <= engine.clock() else at


def _result(run: JobRun) -> str:
    return f"{run.result}: {run.said}" if run.result else "running"


def _due(engine: Engine, run: JobRun) -> str:
    return "by hand" if run.due is None else _when(engine, run.due)
