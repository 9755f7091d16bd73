"""``commit``: commits changes now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.errors import AutopoiesisError
from tui.cli.base import emit, emit_json, emit_problems, verb
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.commits.gathering import CommitReport
    from engine.engine import Engine


@verb("autopoiesis commit --dry-run", "autopoiesis commit knowledge/people -m 'Ada moved to Ghent'")
@click.argument("paths", nargs=-1, metavar="[PATH…]", type=click.Path(path_type=Path))
@click.option("-m", "--message", default="", help="The message; by default derived from the change.")
@click.option("--dry-run", is_flag=True, help="Show what would be committed, without asking a model.")
def commit(engine: Engine, paths: tuple[Path, ...], message: str, dry_run: bool, as_json: bool) -> int:
    """Commit files and folders of the workspace, or everything that has changed.

    Without PATH, commits knowledge, topics, presets, archive, attachments, skills, probes and settings in one
    commit, knowledge/identity/ and the transcripts of ended sessions in others. Files that must not be
    committed, such as those with a possible secret, are listed and left out; the exit code is then 1.
    """
    named = [engine.workspace.relative(path) if path.is_absolute() else path.as_posix() for path in paths]
    report = engine.commits.commit(named, message, dry_run=dry_run)
    gone = [path for path in named if not (engine.workspace.root / path).exists()]
    if gone and not (report.commits or report.left_out):
        raise AutopoiesisError(
            "no such file or folder, in the workspace or in the latest commit", where=gone[0]
        )
    if as_json:
        emit_json(report)
    else:
        _print(report, dry_run=dry_run)
    left = (f"left out: {each.path}: {each.why}" for each in report.left_out)
    emit_problems([*report.warnings, *left])
    return 1 if report.refused else 0


def _print(report: CommitReport, *, dry_run: bool) -> None:
    if not report.commits:
        emit("nothing to commit")
    for number, each in enumerate(report.commits):
        if number:
            emit()
        files = plural(len(each.paths), "file") + (f", message by {each.model}" if each.model else "")
        emit(f"{'would commit' if dry_run else f'committed as {each.revision[:8]}'}: {files}")
        for line in each.message.split("\n"):
            emit(f"    {line}".rstrip())
