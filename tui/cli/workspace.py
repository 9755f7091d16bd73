"""``open``, ``init``, ``doctor`` and ``demo``: workspaces and the workbench."""

from __future__ import annotations

import shutil
import threading
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import Invocation, emit, emit_json, emit_problems, invocation, is_terminal, verb

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.workspace.initialise import InitialiseReport

SAMPLE_MESSAGE = "Can you review the PR that just came in?"


@verb("autopoiesis ~/memory", name="open")
@click.argument("workspace", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--read-only", is_flag=True, help="Do not write anything.")
def open_workbench(workspace: Path | None = None, read_only: bool = False) -> int:
    """Open the workbench on WORKSPACE."""
    from engine.engine import Engine  # noqa: PLC0415 — the engine is needed only now
    from tui.app import run_workbench  # noqa: PLC0415 — textual takes a quarter of a second

    opened = (
        Engine.open(workspace, read_only=read_only) if workspace else invocation().open(read_only=read_only)
    )
    with opened as engine:
        return run_workbench(engine)


@verb("--sample ~/memory")
@click.argument("directory", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--sample", is_flag=True, help="Add a month of an agent's work on a fictional project.")
@click.option("--today", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
              help="The sample's last day; by default today.")  # fmt: skip
@click.option("--hooks", is_flag=True, help="Only reinstall the workspace's git hooks.")
def init(directory: Path | None, sample: bool, today: datetime | None, hooks: bool) -> None:
    """Create a workspace in DIRECTORY: folders, settings, and a git repository with hooks."""
    from engine.workspace.initialise import initialise, renew_hooks  # noqa: PLC0415 — the engine is needed only now

    if hooks and (sample or today is not None):
        raise click.UsageError("--hooks takes no other options")
    root = directory or invocation().workspace
    day = None if today is None else today.date()
    if hooks:
        report = renew_hooks(root)
    else:
        report = make_sample(root, day) if sample else initialise(root)
    for line in report.lines:
        emit(line)
    emit_problems(report.problems)
    if not hooks:
        place = "" if root == Invocation().workspace else f" -C {root}"
        emit(f"next: autopoiesis {root}" if sample else f"next: autopoiesis{place} import")


@verb("", "--staged   # what the commit hook runs")
@click.option("--staged", is_flag=True, help="Check only what is staged for the next commit.")
@click.option("--all", "every", is_flag=True, help="Read transcripts again that are as they were committed.")
def doctor(staged: bool, every: bool, as_json: bool) -> int:
    """Check the workspace and this machine, and suggest fixes. Exit 1 if there is an error."""
    from engine.workspace.doctor import examine  # noqa: PLC0415 — the engine is needed only now
    from tui.cli.install import agents_found  # noqa: PLC0415 — only here

    findings = [
        *examine(invocation().workspace, staged=staged, every=every),
        *(() if staged else agents_found()),
    ]
    if as_json:
        emit_json(findings)
    else:
        for finding in findings:
            mark = {"ok": "✓", "note": "·", "warning": "!", "error": "✗"}[finding.level]
            emit(f"{mark} {finding.text}")
            if finding.hint:
                emit(f"    {finding.hint}")
    return 1 if any(finding.level == "error" for finding in findings) else 0


@verb("build/sample", "--no-replay")
@click.argument("directory", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--no-replay", is_flag=True, help="Do not replay the conversation.")
@click.option("--speed", type=click.FloatRange(min=0.1, max=1000), default=1.0, show_default=True,
              help="How many times as fast to replay it.")  # fmt: skip
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
        is_new = not root.exists() or not any(root.iterdir())
        try:
            make_sample(root)
        except BaseException:
            if is_new:  # half of a sample would be taken for a whole one by the next run
                shutil.rmtree(root, ignore_errors=True)
            raise
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
