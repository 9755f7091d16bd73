"""``jobs`` and ``events``: scheduled jobs, and due schedules and webhooks that are handed to agents."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from engine.store.zone import local_time
from tui.cli.base import (
    commit_text,
    emit,
    emit_json,
    emit_problems,
    emit_prompt,
    emitted_json,
    group,
    invocation,
    json_option,
    progress,
    table,
)

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.lifecycle.schedule.job import JobRow, JobRun
    from engine.signals.signals import Arrival


RUNNERS = {
    "workbench": "the workbench",
    "watch": "autopoiesis watch",
    "serve": "autopoiesis serve",
    "hooks": "the background process of an agent's hooks",
}
IDLE = "the schedule is not running: it runs while the workbench, `autopoiesis watch` or `serve` is running"


@group("", "run index", "set probes '0 6 * * 1-5'", invoke_without_command=True)
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


@jobs.verb("run", "index", "topic:evening --json")
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


@jobs.verb("log", "", "index --limit 5")
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


@jobs.verb("set", "index '0 4 * * *'", "probes off")
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


_LOOK_S = 0.25
_LONGEST_LEASE = 7 * 24 * 60


@group("list", "next --wait --json | my-agent", "end evt_1a2b3c4d5e")
def events() -> None:
    """List, take and finish events: schedules of topics that came due, and webhooks that arrived."""


@events.verb("list", "--limit 5")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
def events_list(engine: Engine, limit: int, as_json: bool) -> None:
    """List events, newest first, with the playbooks they activated and who took them."""
    every = engine.signals.log.all()[::-1]
    if emitted_json(as_json, every[:limit]):
        return
    if not every:
        emit("no events yet: no topic schedule has come due, and no webhook has arrived")
        return
    rows = [
        [
            f"{local_time(each.at, engine.config.days.time_zone):%Y-%m-%d %H:%M}",
            each.id,
            f"{each.source} {each.event}",
            ", ".join(each.topics) or "-",
            _state(each),
        ]
        for each in every[:limit]
    ]
    table(rows, ["arrived", "id", "event", "playbooks", "state"])
    if len(every) > limit:
        emit(f"{limit} of {len(every)} shown")


@events.verb("next", "--wait", "--json --lease 60")
@click.option("--wait", is_flag=True, help="Wait for an event.")
@click.option("--lease", type=click.FloatRange(0.1, _LONGEST_LEASE), default=15.0, show_default=True,
              help="Minutes until the event is handed out again, unless `events end` is run.")  # fmt: skip
@click.option("--by", default="command", show_default=True, help="Who takes it, as shown by `events list`.")
def events_next(engine: Engine, wait: bool, lease: float, by: str, as_json: bool) -> int:
    """Take the oldest waiting event and print its prompt; its id goes to standard error. Exit 1 if none."""
    if wait and engine.schedule.held_by() is None:
        emit_problems([IDLE])
    handed = engine.signals.take(by, timedelta(minutes=lease))
    while handed is None and wait:
        time.sleep(_LOOK_S)
        handed = engine.signals.take(by, timedelta(minutes=lease))
    if handed is None:
        if as_json:
            emit_json(None)
        return 1
    if as_json:
        emit_json({"event": handed.arrival, "prompt": handed.prompt.text, "tokens": handed.prompt.tokens})
    else:
        emit_problems([f"{handed.arrival.id}: {handed.arrival.source} {handed.arrival.event}"])
        emit_prompt(f"{handed.prompt.text}\n")
    return 0


@events.verb("end", "evt_1a2b3c4d5e", "evt_1a2b3c4d5e --failed")
@click.argument("name", metavar="ID")
@click.option("--failed", is_flag=True, help="Mark it as failed; it is not handed out again.")
@click.option("--said", default="", help="The outcome, as shown by `events list`.")
def events_end(engine: Engine, name: str, failed: bool, said: str) -> None:
    """Mark an event as done."""
    ended = engine.signals.log.end(name, failed=failed, said=said)
    emit(f"{ended.id} {_state(ended)}")


def _state(arrival: Arrival) -> str:
    outcome = " ".join(arrival.said.split())[:60]
    by = f" by {arrival.by}" if arrival.by and arrival.state != "waiting" else ""
    times = f", {arrival.taken} times" if arrival.taken > 1 else ""
    return f"{arrival.state}{by}{times}{f': {outcome}' if outcome else ''}"
