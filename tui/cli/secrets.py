"""``secrets``: where keys and passwords stand in the workspace and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, group, plain, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine

_IN_FILES = "in files: take them out; what stood in a commit stays in the history (--history)"
_IN_HISTORY = """\
in the history, which every clone and push holds:
  1. revoke each key and change each password where it is used: it counts as known
  2. if the history may be rewritten: git filter-repo --replace-text FILE, with one secret a line in FILE
  3. push with force, let others clone anew, and delete FILE"""


@group("autopoiesis secrets scan", "autopoiesis secrets scan --history")
def secrets() -> None:
    """Keys and passwords that stand where they should not."""


@secrets.verb("scan", "autopoiesis secrets scan --history")
@click.option("--history", is_flag=True, help="Also look at every version of every file in git.")
def scan(engine: Engine, history: bool, as_json: bool) -> int:
    """List what looks like a secret by file, line and kind, never by its value.

    Exits with status 1 when there is any.
    """
    from engine.workspace.secret_scan import Passed, Standing, scan_files, scan_history  # noqa: PLC0415 — brings git

    found = [*scan_files(engine.files), *(scan_history(engine.repository) if history else ())]
    standing = [each for each in found if isinstance(each, Standing)]
    passed = [each for each in found if isinstance(each, Passed)]
    if as_json:
        emit_json({"found": [plain(each) for each in standing], "passed": [plain(each) for each in passed]})
    else:
        where = "files and history" if history else "files"
        for each in passed:
            emit(f"not looked at: {each.path} ({each.why})")
        if not standing:
            emit(f"no secrets in the workspace's {where}")
        else:
            table([[f"{each.path}:{each.line}", each.kind, each.revision] for each in standing])
            emit("")
            emit(f"{plural(len(standing), 'secret')}; what to do:")
            if any(not each.revision for each in standing):
                emit(_IN_FILES)
            if any(each.revision for each in standing):
                emit(_IN_HISTORY)
    return 1 if standing else 0
