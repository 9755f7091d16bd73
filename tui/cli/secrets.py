"""``secrets``: finds keys and passwords in the workspace and its history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.base import emit, emit_json, group, plain, table
from tui.render.figures import plural

if TYPE_CHECKING:
    from engine.engine import Engine

_IN_FILES = """\
in files; what was committed stays in the history (--history):
  replace them by [secret]: autopoiesis secrets redact FILE
  if one is no secret: autopoiesis secrets allow FILE:LINE"""
_IN_HISTORY = """\
in the history, which every clone and push contains:
  1. revoke each key and change each password: consider them leaked
  2. if you can rewrite the history: git filter-repo --replace-text FILE, with one secret per line in FILE
  3. force-push, have others clone again, and delete FILE"""


@group("autopoiesis secrets scan", "autopoiesis secrets allow knowledge/facts.md:12")
def secrets() -> None:
    """Find keys and passwords where they should not be, and decide on each."""


@secrets.verb("scan", "autopoiesis secrets scan --history")
@click.option("--history", is_flag=True, help="Also scan every version of every file in git.")
def scan(engine: Engine, history: bool, as_json: bool) -> int:
    """List possible secrets by file, line and kind, without their values. Exit 1 if there are any."""
    from engine.workspace.secret_scan import FoundSecret, Skipped, scan_files, scan_history  # noqa: PLC0415 — imports git support

    found = [*scan_files(engine.files), *(scan_history(engine.files, engine.repository) if history else ())]
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


@secrets.verb("allow", "autopoiesis secrets allow knowledge/facts.md:12")
@click.argument("place", metavar="FILE[:LINE]")
def allow(engine: Engine, place: str, as_json: bool) -> int:
    """Record that what was found in a file, or in one line, is no secret, so that it can be committed.

    The hash of the finding is kept in logs/secrets_allowed.jsonl, and so applies to every file and, once
    synced, on every machine. Exit 1 if nothing was found there.
    """
    from engine.redaction.commits import ALLOWED  # noqa: PLC0415 — imports the patterns
    from engine.store.change import commit_change  # noqa: PLC0415 — imports git support
    from engine.store.commit_message import commit_message  # noqa: PLC0415 — as above
    from engine.workspace import secret_scan  # noqa: PLC0415 — imports git support

    path, line = _place(engine, place)
    found = secret_scan.allow(engine.files, path, line, engine.clock())
    if found:
        message = commit_message("maintenance", f"{plural(len(found), 'finding')} allowed")
        wanted = engine.config.git.auto_commit
        commit_change(lambda: engine.repository, [ALLOWED], message, wanted=wanted)
    return _emit_decided(place, len(found), "allowed", as_json)


@secrets.verb("redact", "autopoiesis secrets redact knowledge/facts.md")
@click.argument("place", metavar="FILE[:LINE]")
def redact(engine: Engine, place: str, as_json: bool) -> int:
    """Replace what looks like a secret in a file, or in one line, by [secret]. Exit 1 if there is nothing."""
    from engine.workspace import secret_scan  # noqa: PLC0415 — imports git support

    path, line = _place(engine, place)
    return _emit_decided(place, secret_scan.redact_file(engine.files, path, line), "replaced", as_json)


def _place(engine: Engine, place: str) -> tuple[str, int | None]:
    """The workspace-relative path and the line of ``FILE[:LINE]``."""
    path, _, line = place.rpartition(":")
    if path and line.isdecimal() and not (engine.workspace.root / place).exists():
        return engine.workspace.relative(Path(path)), int(line)
    return engine.workspace.relative(Path(place)), None


def _emit_decided(place: str, count: int, done: str, as_json: bool) -> int:
    if as_json:
        emit_json({done: count})
    elif count:
        emit(f"{plural(count, 'finding')} {done}; commit the file: autopoiesis commit")
    else:
        emit(f"nothing in {place} looks like a secret")
    return 0 if count else 1
