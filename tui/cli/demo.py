"""``demo``: the sample workspace with a live conversation."""

from __future__ import annotations

import threading
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_problems, is_terminal, verb

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.workspace.initialise import InitialiseReport

SAMPLE_MESSAGE = "Can you review the PR that just came in?"


@verb("autopoiesis demo build/sample", "autopoiesis demo --no-replay")
@click.argument("directory", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--no-replay", is_flag=True, help="Do not replay the conversation.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0.1, max=1000),
    default=1.0,
    show_default=True,
    help="How many times as fast to replay it.",
)
def demo(directory: Path | None, no_replay: bool, speed: float) -> int:
    """Show the product on its sample workspace, created in DIRECTORY if missing.

    On a terminal, opens the workbench while a recorded conversation is replayed into the workspace.
    Otherwise prints the activation trace and the prompt outline of one message.
    """
    from engine.engine import Engine  # noqa: PLC0415 — the engine is needed only now
    from engine.workspace.initialise import replay_sample  # noqa: PLC0415

    root = (directory or Path("autopoiesis-sample")).expanduser()
    if not (root / "memory-config.yaml").exists():
        emit(f"creating the sample workspace in {root}: a month of sessions is played to it, in some seconds")
        make_sample(root)
    with Engine.open(root) as engine:
        if not is_terminal():
            return _headless(engine)
        from tui.app import run_workbench  # noqa: PLC0415 — textual takes a quarter of a second

        stop = threading.Event()
        if not no_replay:
            threading.Thread(
                target=replay_sample, args=(engine.files, stop, speed), name="replay", daemon=True
            ).start()
        try:
            return run_workbench(engine)
        finally:
            stop.set()


def make_sample(root: Path, today: date | None = None) -> InitialiseReport:
    """Create the sample workspace, learn its rules as after an import, and play its sessions to the pipeline;
    ``today`` is its last day.
    """
    from engine.agents.sample_days import live_through  # noqa: PLC0415 — the engine is needed only now
    from engine.engine import Engine  # noqa: PLC0415 — the engine is needed only now
    from engine.workspace.initialise import initialise  # noqa: PLC0415

    report = initialise(root, sample=True, today=today)
    with Engine.open(root) as engine:
        engine.rules.learn()
    live_through(root)
    return report


def _headless(engine: Engine) -> int:
    from engine.context.explain import outline  # noqa: PLC0415 — loads the engine
    from tui.cli.activation import print_trace  # noqa: PLC0415 — loads the engine

    engine.refresh_index()
    trace, compiled = engine.try_message(SAMPLE_MESSAGE)
    emit(f"message: {SAMPLE_MESSAGE}")
    emit()
    print_trace(trace)
    emit()
    emit(outline(compiled))
    emit()
    emit("On a terminal, this opens the workbench.")
    emit_problems(engine.problems())
    return 0
