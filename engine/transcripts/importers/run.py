"""Imports session logs into transcripts, incrementally and idempotently.

The transcript is a function of the log. Its last turn is rewritten by each import, because a call in it may
have received its result meanwhile; everything before it is final. So the outcome does not depend on when or
how often imports run, or on crashes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

from engine.errors import ImportFailed
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.spool import Spool
from engine.transcripts.importers.drafts import Draft, ImportResult, first_import, next_import
from engine.transcripts.importers.earlier import Changed, Earlier
from engine.transcripts.importers.lines import opened
from engine.transcripts.importers.log import Kind, SessionLog, kind_of
from engine.transcripts.places import find_session

_ATTEMPTS = 5
_FOLDERS: dict[Kind, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    "codex": ("CODEX_HOME", ".codex", "sessions"),
}
"""The variable that names an agent's folder, its name in the home folder, and where its logs are below it."""
_NAMES: dict[object, str] = {"claude-code": "Claude Code", "codex": "Codex"}


def log_folder(kind: Kind, home: Path | None = None) -> Path:
    """The folder below which an agent keeps its session logs; it need not exist.

    ``home`` is the agent's folder; where it is by default when ``None``.
    """
    variable, name, below = _FOLDERS[kind]
    return (home or Path(os.environ.get(variable) or Path.home() / name)) / below


def discover(kind: Kind, home: Path | None = None) -> list[Path]:
    """The session logs of an agent's main conversations; of Codex, those in use before the archived ones."""
    folder = log_folder(kind, home)
    if kind == "claude-code":
        return sorted(path for path in folder.glob("*/*.jsonl") if not path.name.startswith("agent-"))
    archived = folder.parent / "archived_sessions"
    return [*sorted(folder.glob("*/*/*/rollout-*.jsonl")), *sorted(archived.rglob("rollout-*.jsonl"))]


def is_session_log(path: Path) -> bool:
    """Whether a file below a folder of logs is a session's own, not a sub-agent's or a tool's output."""
    if path.suffix != ".jsonl" or path.name.startswith("agent-"):
        return False
    return not {"subagents", "tool-results"} & set(path.parts)


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

    with opened(source) as stream:
        _check_kind(kind, kind_of(stream), source)
        log = SessionLog(kind, source, stream, redact)
        session_id = log.session_id()

        def draft_of(earlier: Earlier | None, spool: Spool | None) -> Draft:
            if earlier is None:
                return first_import(log, session_id, clock, spool)
            _check_kind(kind, earlier.header.get("channel"), source, f"{earlier.path} is")
            return next_import(log, session_id, earlier, clock, spool)

        look_up = find or partial(find_session, workspace)
        return write_import(files, source, session_id, look_up, draft_of, dry_run=dry_run)


def write_import(
    files: Files,
    source: Path,
    session_id: str,
    find: Callable[[str], str | None],
    draft_of: Callable[[Earlier | None, Spool | None], Draft],
    *,
    dry_run: bool,
) -> ImportResult:
    """Draft the transcript of a session and write it; redraft if another process wrote it first.

    ``find`` gives the transcript of a session id; ``draft_of`` is given the transcript there is, and a spool
    where the draft is to be written.

    Raises:
        ImportFailed: Other processes keep changing the transcript.
        WriteFailed, ReadOnly: The transcript could not be written.
    """
    for _ in range(_ATTEMPTS):
        target = find(session_id) if session_id else None
        with contextlib.nullcontext() if dry_run else Spool(files) as spool, contextlib.suppress(Changed):
            earlier = _earlier(files, target) if target is not None else None
            draft = draft_of(earlier, spool)
            if dry_run or draft.content is None:
                return draft.result
            if earlier is not None:
                files.replace(earlier.path, draft.content())
                return draft.result
            if files.create(draft.result.target, draft.content()):
                return draft.result
        find = partial(find_session, files.workspace)
    raise ImportFailed("its transcript keeps changing", where=str(source), hint="try again later")


def _check_kind(kind: Kind, found: object, source: Path, what: str = "it is") -> None:
    """Refuses a log written by another program.

    Raises:
        ImportFailed: It is.
    """
    if found != kind and found in get_args(Kind):
        raise ImportFailed(
            f"{what} of {_NAMES[found]}, not of {_NAMES[kind]}",
            where=str(source),
            hint=f"import it as {found}",
        )


def _earlier(files: Files, target: str) -> Earlier | None:
    try:
        return Earlier(files, target)
    except FileNotFoundError:
        return None
