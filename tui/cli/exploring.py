"""``history explore``: a branch to try something on, with its files in a folder outside the workspace."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, emit_problems, verb
from tui.cli.history_back import print_branches

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.history.branches import Branch
    from engine.history.explorations import Exploration


@verb(
    "autopoiesis history explore other-tone   # makes explore/other-tone, in a folder of its own",
    "autopoiesis history explore before-june --at 2026-06-01",
    "autopoiesis history explore reviewer --only topics,knowledge/shared   # for a sub-agent",
    "autopoiesis history explore other-tone --diff",
    "autopoiesis history explore other-tone --merge --apply",
    name="explore",
)
@click.argument("name", required=False)
@click.option("--at", "revision", default="", metavar="REV|DATE", help="What it begins with.")
@click.option("--only", metavar="FOLDER,…", default="", help="The folders that are to be shown there.")
@click.option("--list", "is_listed", is_flag=True, help="List them, as does the command without NAME.")
@click.option("--diff", "is_compared", is_flag=True, help="Show what it has that the memory has not.")
@click.option("--merge", "is_merged", is_flag=True, help="Show what taking it over would change.")
@click.option("--delete", "is_deleted", is_flag=True, help="Show what removing it would lose.")
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
    """Try something on a branch explore/NAME, whose files lie in a folder outside the workspace.

    You or an agent edit there, open the workbench there, commit there; the workspace stays as it is. --merge
    takes over what is committed there, as one commit, and branch and folder go; what both sides changed is
    explained and keeps all of it from being merged. A branch that was not used for a week goes with history
    branches --prune, once you say so. Nothing is removed that is in no commit.

    With --only a sub-agent sees some folders alone, and the files that lie directly in those above them. What
    it commits leaves everything else as it is. It is a view and no wall: git there reads all of the
    repository. Private files are shown encrypted.
    """
    deeds = [is_compared, is_merged, is_deleted, is_listed or name is None, bool(revision or only)]
    if sum(deeds) > 1 or (name is not None and is_listed):
        raise click.UsageError("give a NAME with --at, --only, --diff, --merge or --delete, or --list alone")
    if is_applied and not (is_merged or is_deleted):
        raise click.UsageError("--apply goes with --merge or --delete")
    if name is None:
        return _list(engine, as_json)
    if is_merged or is_compared:
        from tui.cli.reconstruction import merge, show_compared  # noqa: PLC0415 — only where it is asked for

        found = engine.history.branch(name)
        if is_compared:
            show_compared(engine, ("HEAD", found.name), as_json=as_json)
            return 0
        there = f"git -C {quote(found.in_use or 'FOLDER')} merge {engine.repository.branch() or 'main'}"
        return merge(engine, found.name, is_applied, as_json, f"to decide: {there}, and try again")
    if is_deleted:
        return _delete(engine, engine.history.branch(name), is_applied, as_json)
    made = engine.history.explore(name, revision, [each.strip() for each in only.split(",") if each.strip()])
    if as_json:
        emit_json(made)
    else:
        _print_made(made)
    return 0


def _list(engine: Engine, as_json: bool) -> int:
    found = [each for each in engine.history.branches() if each.name.startswith("explore/")]
    if as_json:
        emit_json({"branches": found})
    elif found:
        print_branches(found, engine.clock())
    else:
        emit("there is none yet: autopoiesis history explore NAME")
    return 0


def _print_made(made: Exploration) -> None:
    folder = quote(str(made.folder))
    emit(f"{made.branch} is {'new' if made.made else 'there'}, at {made.revision[:8]}; its files are in")
    emit(f"  {made.folder}")
    if made.shows:
        emit(f"which shows {', '.join(made.shows)} alone")
    emit(f"edit them there, or open them: autopoiesis -C {folder}")
    emit(f"commit: autopoiesis -C {folder} commit")


def _delete(engine: Engine, found: Branch, is_applied: bool, as_json: bool) -> int:
    if is_applied:
        engine.history.drop(found)
    if as_json:
        emit_json({"branch": found, "removed": is_applied})
        return 0
    if is_applied:
        emit(f"{found.name} is gone; it comes back with: git branch {found.name} {found.revision[:8]}")
        return 0
    print_branches([found], engine.clock())
    if found.uncommitted:
        emit_problems([f"autopoiesis: {found.in_use}: files are not committed, which keeps it from going"])
        return 1
    emit("nothing was removed; do it with --apply")
    return 0
