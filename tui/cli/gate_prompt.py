"""Gate questions answered on the terminal, for commands run with ``gate.provider: ask``."""

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
def prompt_for_gate(engine: Engine) -> Iterator[None]:
    """Asks gate questions on the terminal; without a terminal they go unanswered."""
    if engine.config.gate.provider != "ask" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        yield
        return
    from engine.events import GateAsked  # noqa: PLC0415 — only on a terminal

    one_at_a_time = threading.Lock()

    def ask(question: GateAsked) -> None:
        with one_at_a_time:
            click.echo(visible(f"{question.topic}: {question.description}"), err=True)
            answer = click.confirm("Does it apply?", err=True, default=False)
        engine.answer(question.question_id, answer)

    def handle(event: EngineEvent) -> None:
        # Events arrive on the thread that watches the deadline, so waiting for a key must not block it.
        if isinstance(event, GateAsked):
            threading.Thread(target=ask, args=(event,), daemon=True).start()

    unsubscribe = engine.subscribe(handle)
    try:
        yield
    finally:
        unsubscribe()
