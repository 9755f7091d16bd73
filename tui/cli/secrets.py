"""``secrets``: finds keys and passwords in the workspace and its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, group, plain, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine

_IN_FILES = "in files: remove them; what was committed stays in the history (--history)"
_IN_HISTORY = """\
in the history, which every clone and push contains:
  1. revoke each key and change each password: consider them leaked
  2. if you can rewrite the history: git filter-repo --replace-text FILE, with one secret per line in FILE
  3. force-push, have others clone again, and delete FILE"""


@group("autopoiesis secrets scan", "autopoiesis secrets scan --history")
def secrets() -> None:
    """Find keys and passwords where they should not be."""


@secrets.verb("scan", "autopoiesis secrets scan --history")
@click.option("--history", is_flag=True, help="Also scan every version of every file in git.")
def scan(engine: Engine, history: bool, as_json: bool) -> int:
    """List possible secrets by file, line and kind, without their values. Exit 1 if there are any."""
    from engine.workspace.secret_scan import FoundSecret, Skipped, scan_files, scan_history  # noqa: PLC0415 — imports git support

    found = [*scan_files(engine.files), *(scan_history(engine.repository) if history else ())]
    standing = [each for each in found if isinstance(each, FoundSecret)]
    passed = [each for each in found if isinstance(each, Skipped)]
    if as_json:
        emit_json({"found": [plain(each) for each in standing], "passed": [plain(each) for each in passed]})
    else:
        for each in passed:
            emit(f"not scanned: {each.path} ({each.why})")
        if not standing:
            emit(f"no secrets in the workspace's {'files and history' if history else 'files'}")
        else:
            table([[f"{each.path}:{each.line}", each.kind, each.revision] for each in standing])
            emit("")
            emit(f"{plural(len(standing), 'secret')}; what to do:")
            if any(not each.revision for each in standing):
                emit(_IN_FILES)
            if any(each.revision for each in standing):
                emit(_IN_HISTORY)
    return 1 if standing else 0
