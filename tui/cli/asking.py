"""Gate questions answered at the prompt, for commands that run with ``gate.provider: ask``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tui.cli.base import visible

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.events import EngineEvent, GateAsked


@contextmanager
def answering(engine: Engine) -> Iterator[None]:
    """While this lasts, a person at a terminal is asked; without one no one is, and the gate says so."""
    if engine.config.gate.provider != "ask" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        yield
        return
    from engine.events import GateAsked  # noqa: PLC0415 — only where a person is asked

    one_at_a_time = threading.Lock()

    def put(question: GateAsked) -> None:
        with one_at_a_time:
            click.echo(visible(f"{question.topic}: {question.description}"), err=True)
            answer = click.confirm("Does it apply?", err=True, default=False)
        engine.answer(question.question_id, answer)

    def handle(event: EngineEvent) -> None:
        # The event comes on the thread that also watches the deadline; waiting for a key must not hold it up.
        if isinstance(event, GateAsked):
            threading.Thread(target=put, args=(event,), daemon=True).start()

    unsubscribe = engine.subscribe(handle)
    try:
        yield
    finally:
        unsubscribe()
