"""``events``: schedules that came due and webhooks, handed to agents."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from engine.store.zone import local_time
from tui.cli.base import emit, emit_json, emit_problems, emit_raw, group, table
from tui.cli.jobs import IDLE

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.signals.log import Arrival

_LOOK_S = 0.25


@group(
    "autopoiesis events list",
    "autopoiesis events next --wait --json | my-agent",
    "autopoiesis events end evt_1a2b3c4d5e",
)
def events() -> None:
    """Schedules of topics that came due and webhooks that arrived: take one, say what came of it."""


@events.verb("list", "autopoiesis events list --limit 5")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many.")
def events_list(engine: Engine, limit: int, as_json: bool) -> None:
    """What arrived lately, newest first, which playbooks it activated, and who took it."""
    every = engine.signals.log.all()[::-1]
    if as_json:
        emit_json(every[:limit])
        return
    if not every:
        emit("nothing has arrived yet: no schedule of a topic came due, and no webhook came")
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


@events.verb("next", "autopoiesis events next --wait", "autopoiesis events next --json --lease 60")
@click.option("--wait", is_flag=True, help="Wait until there is one.")
@click.option(
    "--lease", type=click.FloatRange(min=0.1), default=15.0, show_default=True,
    help="Minutes after which another gets it, unless `events end` was said.",
)  # fmt: skip
@click.option("--by", default="command", show_default=True, help="Who takes it, for the list.")
def events_next(engine: Engine, wait: bool, lease: float, by: str, as_json: bool) -> int:
    """Take the oldest event that waits and print its prompt; its id goes to standard error. Exit 1: none."""
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
        emit_raw(f"{handed.prompt.text}\n")
    return 0


@events.verb("end", "autopoiesis events end evt_1a2b3c4d5e", "autopoiesis events end evt_1a2b3c4d5e --failed")
@click.argument("name", metavar="ID")
@click.option("--failed", is_flag=True, help="It went wrong; it is not handed out again.")
@click.option("--said", default="", help="What came of it.")
def events_end(engine: Engine, name: str, failed: bool, said: str) -> None:
    """Say that an event that was taken is dealt with."""
    ended = engine.signals.log.end(name, failed=failed, said=said)
    emit(f"{ended.id} {_state(ended)}")


def _state(arrival: Arrival) -> str:
    """What came of it, in a clause."""
    said = " ".join(arrival.said.split())
    said = f": {said[:60]}" if said else ""
    by = f" by {arrival.by}" if arrival.by and arrival.state != "waiting" else ""
    again = f", {arrival.taken} times" if arrival.taken > 1 else ""
    return f"{arrival.state}{by}{again}{said}"
