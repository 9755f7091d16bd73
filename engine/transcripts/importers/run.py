"""Imports session logs into transcripts: incrementally, and any number of times with the same outcome.

The transcript is a function of the log. Its last turn is written anew at each import, because a call in it
may have got its result meanwhile; everything before is final. So nothing depends on when, or how often, or
after which crash an import runs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from engine.errors import ImportFailed
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.spool import Spool
from engine.transcripts.importers import claude_code, codex
from engine.transcripts.importers.convert import kind_of
from engine.transcripts.importers.drafts import Draft, Status, first_import, next_import
from engine.transcripts.importers.earlier import Changed, Earlier
from engine.transcripts.importers.lines import opened
from engine.transcripts.importers.log import Kind, SessionLog
from engine.transcripts.places import find_session, session_files, session_of

_ATTEMPTS = 5
_NAMES: dict[object, str] = {"claude-code": "Claude Code", "codex": "Codex"}


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What became of one session log."""

    source: Path
    target: str  # workspace-relative; empty when there is none
    session_id: str  # empty when the log does not say
    turns_new: int  # turns that were not in the transcript before
    turns_total: int  # turns in the transcript now
    odd_lines: int  # lines of the log that could not be read, or only in part
    status: Status
    """``replaced`` when the log was cut or rewritten since the last import: the transcript then keeps what it
    has and gets what it lacks."""
    why: str = ""  # one clause, where the status does not say it all
    left_out: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What was not taken, counted by reason."""
    format: str = field(default="", compare=False)  # the program or layout that wrote the source


def discover(kind: Kind, home: Path | None = None) -> list[Path]:
    """The session logs of an agent on this machine.

    ``home`` is the agent's folder; where it is by default when ``None``.
    """
    return claude_code.discover(home) if kind == "claude-code" else codex.discover(home)


def log_folder(kind: Kind, home: Path | None = None) -> Path:
    """The folder below which an agent keeps its session logs; it need not exist."""
    return claude_code.folder(home) if kind == "claude-code" else codex.folder(home)


def is_session_log(path: Path) -> bool:
    """Whether a file below a folder of logs is a session's own, not a sub-agent's or a tool's output."""
    if path.suffix != ".jsonl" or path.name.startswith("agent-"):
        return False
    return not {"subagents", "tool-results"} & set(path.parts)


def import_all(
    kind: Kind,
    workspace: Workspace,
    files: Files,
    *,
    sources: Iterable[Path] | None = None,
    home: Path | None = None,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> Iterator[ImportResult]:
    """Import every session log of an agent, one result each; a log that cannot be read stops nothing.

    ``sources`` are all there are by default; ``home`` is the agent's folder, its usual one when ``None``;
    ``clock`` gives seconds since the epoch.

    Raises:
        WriteFailed, ReadOnly: A transcript could not be written.
    """
    known = {session_of(path): workspace.relative(path) for path in session_files(workspace)}
    for source in discover(kind, home) if sources is None else sources:
        try:
            result = import_file(kind, source, workspace, files, dry_run=dry_run, clock=clock, find=known.get)
        except ImportFailed as error:
            yield ImportResult(source, "", "", 0, 0, 0, "skipped", error.what, format=kind)
            continue
        if result.target:
            known.setdefault(result.session_id, result.target)
        yield result


def import_file(
    kind: Kind,
    source: Path,
    workspace: Workspace,
    files: Files,
    *,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
    find: Callable[[str], str | None] | None = None,
    redact: bool = True,
) -> ImportResult:
    """Import one session log into its transcript; what is there already stays as it is, byte for byte.

    ``clock`` gives seconds since the epoch; a session silent for ``IDLE_S`` is given its end. ``find`` gives
    the transcript of a session id, by default from the workspace; ``redact`` writes ``[secret]`` in place of
    what looks like a key or password.

    Raises:
        ImportFailed: The log cannot be read, or another program wrote it.
        WriteFailed, ReadOnly: The transcript could not be written.
    """

    def search(session_id: str) -> str | None:
        return find_session(workspace, session_id)

    look_up = find or search
    with opened(source) as stream:
        _check_kind(kind, kind_of(stream), source)
        log = SessionLog(kind, source, stream, redact)
        session_id = log.session_id()
        for _ in range(_ATTEMPTS):
            target = look_up(session_id) if session_id else None
            with contextlib.nullcontext() if dry_run else Spool(files) as spool, contextlib.suppress(Changed):
                earlier = _earlier(files, target) if target is not None else None
                if earlier is None:
                    draft = first_import(log, session_id, clock, spool)
                else:
                    _check_kind(kind, earlier.header.get("channel"), source, f"{earlier.path} is")
                    draft = next_import(log, earlier, clock, spool)
                path = earlier.path if earlier is not None else draft.target
                if dry_run or _write(files, path, draft, is_new=earlier is None):
                    new = draft.turns - draft.turns_before
                    return ImportResult(
                        source,
                        path,
                        session_id,
                        new,
                        draft.turns,
                        draft.odd,
                        draft.status,
                        draft.why,
                        draft.left_out,
                        kind,
                    )
            look_up = search
    raise ImportFailed(
        "its transcript is being changed again and again", where=str(source), cure="import it later"
    )


def _check_kind(kind: Kind, found: object, source: Path, what: str = "it is") -> None:
    """Refuses a log that is read as another program's: nothing of it would be understood.

    Raises:
        ImportFailed: It is.
    """
    if found != kind and found in get_args(Kind):
        raise ImportFailed(
            f"{what} of {_NAMES[found]}, not of {_NAMES[kind]}",
            where=str(source),
            cure=f"import it as {found}",
        )


def _earlier(files: Files, target: str) -> Earlier | None:
    try:
        return Earlier(files, target)
    except FileNotFoundError:
        return None


def _write(files: Files, target: str, draft: Draft, *, is_new: bool) -> bool:
    """Write a draft that has something to write, unless another process has written meanwhile.

    Raises:
        Changed: Another process has.
    """
    if draft.content is None:
        return True
    content = draft.content()
    if is_new:
        return files.create(target, content)
    files.replace(target, content)
    return True
