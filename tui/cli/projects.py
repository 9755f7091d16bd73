"""``projects``: which repository or folder each project name stands for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from tui.cli.base import commit_text, emit, emit_json, emitted_json, group, invocation, json_option, table

if TYPE_CHECKING:
    from engine.engine import Engine


@group(
    "autopoiesis projects",
    "autopoiesis projects assign shop github.com/acme/shop",
    invoke_without_command=True,
)
@json_option
@click.pass_context
def projects(context: click.Context, as_json: bool) -> None:
    """List the projects: their names, and the repository or folder each stands for.

    A project is its repository: subfolders, linked work trees and all clones of a remote are one project.
    """
    if context.invoked_subcommand is None:
        with invocation().engine() as engine:
            _list(engine, as_json)


def _list(engine: Engine, as_json: bool) -> None:
    found, disputed = engine.projects.all(), engine.projects.disputed()
    if emitted_json(as_json, {"projects": found, "disputed": disputed}):
        return
    if found:
        rows = [[each.name, ", ".join(each.keys), ", ".join(each.names[1:])] for each in found]
        table(rows, ["project", "repository or folder", "also"])
    else:
        emit("no projects yet: they appear once a session is captured or imported")
    for name, keys in disputed.items():
        emit(f"{name} stands for {' and '.join(keys)}: its rules and notes reach neither")
        emit(f"  decide which: autopoiesis projects assign {name} {shlex.quote(keys[0])}")


@projects.verb(
    "assign",
    "autopoiesis projects assign shop github.com/acme/shop",
    "autopoiesis projects assign shop ~/src/shop",
)
@click.argument("name")
@click.argument("project")
def projects_assign(engine: Engine, name: str, project: str, as_json: bool) -> None:
    """Decide that NAME stands for PROJECT: a repository or folder as listed, or another name of it.

    If NAME stood for several projects, the others get names of their own. If it is another project's, PROJECT
    joins that one, as after moving a repository. A new NAME renames the project; old names still work.
    """
    from engine.conversations.imports import commit_projects  # noqa: PLC0415 — `--help` must not load it
    from engine.errors import RepositoryError  # noqa: PLC0415 — likewise

    found = engine.projects.assign(name, project)
    said = "git.auto_commit is off"
    if engine.config.git.auto_commit:
        try:
            change = commit_projects(engine)
            said = commit_text(change.revision, change.why)
        except RepositoryError as error:
            said = str(error)
    if as_json:
        emit_json(found)
    else:
        emit(f"{found.name}: {', '.join(found.keys)}")
        emit(said)
