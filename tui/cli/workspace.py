"""``open``, ``init`` and ``doctor``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from tui.cli.base import Invocation, emit, emit_json, emit_problems, invocation, verb


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


@verb("autopoiesis init --sample ~/memory")
@click.argument("directory", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option("--sample", is_flag=True, help="Add a month of an agent's work on a fictional project.")
@click.option(
    "--today",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The sample's last day; by default today.",
)
@click.option("--hooks", is_flag=True, help="Only reinstall the workspace's git hooks.")
def init(directory: Path | None, sample: bool, today: datetime | None, hooks: bool) -> None:
    """Create a workspace in DIRECTORY: folders, settings, and a git repository with hooks."""
    from engine.workspace.initialise import initialise, renew_hooks  # noqa: PLC0415 — the engine is needed only now
    from tui.cli.demo import make_sample  # noqa: PLC0415

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


@verb("autopoiesis doctor", "autopoiesis doctor --staged   # what the commit hook runs")
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
