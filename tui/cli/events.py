"""``events``: due schedules and webhooks, handed to agents."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from engine.store.zone import local_time
from tui.cli.base import emit, emit_json, emit_problems, emit_prompt, emitted_json, group, table
from tui.cli.jobs import IDLE

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.signals.signals import Arrival

_LOOK_S = 0.25
_LONGEST_LEASE = 7 * 24 * 60


@group(
    "autopoiesis events list",
    "autopoiesis events next --wait --json | my-agent",
    "autopoiesis events end evt_1a2b3c4d5e",
)
def events() -> None:
    """List, take and finish events: schedules of topics that came due, and webhooks that arrived."""


@events.verb("list", "autopoiesis events list --limit 5")
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


@events.verb("next", "autopoiesis events next --wait", "autopoiesis events next --json --lease 60")
@click.option("--wait", is_flag=True, help="Wait for an event.")
@click.option(
    "--lease", type=click.FloatRange(0.1, _LONGEST_LEASE), default=15.0, show_default=True,
    help="Minutes until the event is handed out again, unless `events end` is run.",
)  # fmt: skip
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


@events.verb("end", "autopoiesis events end evt_1a2b3c4d5e", "autopoiesis events end evt_1a2b3c4d5e --failed")
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
