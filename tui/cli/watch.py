"""``watch``: the live feed as text."""

from __future__ import annotations

import queue
import time

import click

from engine.events import EngineEvent, TurnArrived, TurnTraced
from engine.live.feed import entry_of
from engine.store.zone import local_time
from tui.cli.base import emit, invocation, plain, verb
from tui.render.safe import json_text


@verb("--json | jq -c .event")
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop after this time; by default on ctrl+c.")
def watch(seconds: float | None, as_json: bool) -> None:
    """Print what happens in the workspace as it happens: turns, activations, changes, commits."""
    events: queue.SimpleQueue[EngineEvent] = queue.SimpleQueue()
    from engine.agents.listener import listening  # noqa: PLC0415 — not for `--help`

    with invocation().engine() as engine:
        unsubscribe = engine.subscribe(events.put)
        engine.schedule.start("watch")
        engine.start()
        try:
            with listening(engine):
                left = _Deadline(seconds)
                while True:
                    event = events.get(timeout=left.remaining())
                    if as_json:
                        document = {"event": type(event).__name__, **plain(event)}
                        click.echo(json_text(document))
                    else:
                        line = described(event, engine.config.days.time_zone)
                        if line:
                            emit(line)
        except (queue.Empty, KeyboardInterrupt):
            return
        finally:
            unsubscribe()
            engine.stop()


def described(event: EngineEvent, zone: str = "") -> str:
    """One line for an event, with its time in ``zone``; empty for events not worth printing."""
    if isinstance(event, TurnTraced):
        return f"      {event.trace.why}" if event.trace.active or event.trace.corrections else ""
    entry = entry_of(event)
    if entry is None:
        return ""
    first = " ".join(entry.text.split())[:100]
    clock = "%Y-%m-%d %H:%M" if isinstance(event, TurnArrived) and event.past else "%H:%M"
    note = f"  {entry.note}" if entry.note else ""
    return f"{local_time(entry.at, zone):{clock}} {entry.kind:<7} {first}{note}"


class _Deadline:
    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        return None if self._end is None else max(0.001, self._end - time.monotonic())
