"""``topics import``: playbooks from the files of other agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.errors import AutopoiesisError
from tui.cli.base import commit_text, emit, emit_json, plain, table, verb, visible
from tui.render.figures import plural
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.engine import Engine

_WHEN = 56


@verb(
    "autopoiesis topics import ../gauges",
    "autopoiesis topics import ~ --only pdf-forms --apply",
    name="import",
)
@click.argument(
    "folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False
)
@click.option("--only", multiple=True, metavar="NAME", help="Only this playbook. Repeatable.")
@click.option("--full", is_flag=True, help="Show the playbooks in full.")
@click.option("--apply", "is_applied", is_flag=True, help="Write them; without it, they are only shown.")
def topics_import(
    engine: Engine, folder: Path, only: tuple[str, ...], full: bool, is_applied: bool, as_json: bool
) -> None:
    """Import playbooks from a repository, or from your home folder, as other agents keep them.

    Read are skills and commands of Claude Code (.claude/), rules of Cursor (.cursor/rules/) and the sections
    of AGENTS.md. The files may be a stranger's: read what would be written before you apply it. Nothing in
    them runs. An import again updates what changed, and leaves alone what you edited.
    """
    from engine.playbooks.draft import text_of  # noqa: PLC0415 — loads the engine
    from engine.playbooks.foreign import found_in  # noqa: PLC0415 — likewise

    found = found_in(folder.expanduser().resolve(), engine.library, engine.files)
    names = {each.draft.name for each in found}
    if unknown := [name for name in only if name not in names]:
        raise AutopoiesisError(f"no playbook {visible(unknown[0])} in {folder}", hint="run it without --only")
    found = [each for each in found if not only or each.draft.name in only]
    made = engine.playbooks.import_found(found) if is_applied else []
    if as_json:
        rows = [{**plain(each), "name": each.draft.name, "why": each.why} for each in found]
        emit_json({"found": rows, "written": made})
        return
    if not found:
        emit(f"no skills, commands, rules or AGENTS.md in {folder}")
        return
    table(
        [
            [each.draft.name, each.kind, each.draft.origin, each.state, first_line(each.draft.when)[:_WHEN]]
            for each in found
        ],
        ["name", "kind", "from", "state", "when"],
    )
    for each in found:
        for note in (*((each.why,) if each.state in ("edited", "taken") else ()), *each.notes):
            emit(f"{each.draft.name}: {note}")
        if full:
            emit(f"\n{text_of(each.draft).decode()}")
    if is_applied:
        commit = f"; {commit_text(made[0].commit.revision, made[0].commit.why)}" if made else ""
        emit(f"{plural(len(made), 'playbook')} written{commit}")
        return
    waiting = sum(each.state in ("new", "changed") for each in found)
    if waiting:
        emit(f"to read them in full: --full; to write {plural(waiting, 'playbook')}: --apply")
    else:
        emit("nothing to write")
