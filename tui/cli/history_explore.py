"""``history explore``: a branch for experiments, checked out in a folder outside the workspace."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, emit_problems, verb
from tui.cli.history import print_branches

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.history.explorations import Branch, Exploration


@verb(
    "autopoiesis history explore other-tone   # creates explore/other-tone, in its own folder",
    "autopoiesis history explore before-june --at 2026-06-01",
    "autopoiesis history explore reviewer --only topics,knowledge/shared   # for a sub-agent",
    "autopoiesis history explore other-tone --diff",
    "autopoiesis history explore other-tone --merge --apply",
    name="explore",
)
@click.argument("name", required=False)
@click.option("--at", "revision", default="", metavar="REV|DATE", help="The state to start from.")
@click.option("--only", metavar="FOLDER,…", default="", help="Check out only these folders.")
@click.option("--list", "is_listed", is_flag=True, help="List the branches; the default without NAME.")
@click.option("--diff", "is_compared", is_flag=True, help="Show how the branch differs from the workspace.")
@click.option("--merge", "is_merged", is_flag=True, help="Show what merging the branch would change.")
@click.option("--delete", "is_deleted", is_flag=True, help="Show what deleting the branch would lose.")
@click.option("--apply", "is_applied", is_flag=True, help="With --merge or --delete: do it.")
def history_explore(
    engine: Engine,
    name: str | None,
    revision: str,
    only: str,
    is_listed: bool,
    is_compared: bool,
    is_merged: bool,
    is_deleted: bool,
    is_applied: bool,
    as_json: bool,
) -> int:
    """Try something on a branch explore/NAME, checked out in a folder outside the workspace.

    You or an agent edit there, open the workbench there and commit there; the workspace does not change.
    --merge merges what is committed there as one commit and removes branch and folder; if there are
    conflicts, they are explained and nothing is merged. Branches unused for a week can be removed with
    `history branches --prune`. Uncommitted changes are never removed.

    With --only, a sub-agent sees just these folders and the files directly in their parent folders. Its
    commits leave everything else unchanged. This is a view, not a security boundary: git there can read the
    whole repository. Private files appear encrypted.
    """
    actions = [is_compared, is_merged, is_deleted, is_listed or name is None, bool(revision or only)]
    if sum(actions) > 1 or (name is not None and is_listed):
        raise click.UsageError("give NAME with --at and --only, --diff, --merge or --delete; or --list alone")
    if is_applied and not (is_merged or is_deleted):
        raise click.UsageError("--apply needs --merge or --delete")
    if name is None:
        return _list(engine, as_json)
    if is_merged or is_compared:
        from tui.cli.reconstruct import merge_branch, show_compared  # noqa: PLC0415 — only for these options

        found = engine.history.branch(name)
        if is_compared:
            show_compared(engine, ("HEAD", found.name), as_json=as_json)
            return 0
        there = f"git -C {quote(found.in_use or 'FOLDER')} merge {engine.repository.branch() or 'main'}"
        return merge_branch(engine, found.name, is_applied, as_json, f"to resolve: {there}, then retry")
    if is_deleted:
        return _delete(engine, engine.history.branch(name), is_applied, as_json)
    folders = [each.strip() for each in only.split(",") if each.strip()]
    exploration = engine.history.explore(name, revision, folders)
    if as_json:
        emit_json(exploration)
    else:
        _print_exploration(exploration)
    return 0


def _list(engine: Engine, as_json: bool) -> int:
    found = [each for each in engine.history.branches() if each.name.startswith("explore/")]
    if as_json:
        emit_json({"branches": found})
    elif found:
        print_branches(found, engine.clock())
    else:
        emit("no explore branches yet: autopoiesis history explore NAME")
    return 0


def _print_exploration(found: Exploration) -> None:
    folder = quote(str(found.folder))
    what = "created" if found.made else "already exists"
    emit(f"{found.branch} {what}, at {found.revision[:8]}; checked out in")
    emit(f"  {found.folder}")
    if found.shows:
        emit(f"with {', '.join(found.shows)} only")
    emit(f"edit the files there, or open the workbench: autopoiesis -C {folder}")
    emit(f"commit: autopoiesis -C {folder} commit")


def _delete(engine: Engine, found: Branch, is_applied: bool, as_json: bool) -> int:
    if is_applied:
        engine.history.drop(found)
    if as_json:
        emit_json({"branch": found, "removed": is_applied})
        return 0
    if is_applied:
        emit(f"removed {found.name}; restore it with: git branch {found.name} {found.revision[:8]}")
        return 0
    print_branches([found], engine.clock())
    if found.uncommitted:
        emit_problems([f"autopoiesis: cannot remove {found.name}: {found.in_use} has uncommitted changes"])
        return 1
    emit("nothing was removed; pass --apply to do it")
    return 0
