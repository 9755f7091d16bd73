"""Imports session logs into transcripts, incrementally and idempotently.

The transcript is a function of the log. Each import rewrites its last turn, because a call in it may have
received its result in the meantime; everything before it is final. So the outcome does not depend on when or
how often imports run, or on crashes.
"""

from __future__ import annotations

import contextlib
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
from engine.transcripts.importers.existing import ExistingTranscript, TranscriptChanged
from engine.transcripts.importers.lines import opened, plain_path
from engine.transcripts.importers.log import Kind, SessionLog, kind_of, log_folders
from engine.transcripts.places import find_session

_ATTEMPTS = 5
_NAMES: dict[object, str] = {"claude-code": "Claude Code", "codex": "Codex"}


def discover(kind: Kind, named: Path | None = None) -> list[Path]:
    """The session logs of an agent's main conversations; for Codex, archived ones come last.

    ``named`` as in ``agent_folders``.
    """
    folders = log_folders(kind, named)
    if kind == "claude-code":
        found = [path for folder in folders for path in sorted(folder.glob("*/*.jsonl"))]
        return [path for path in found if not path.name.startswith("agent-")]
    archives = [folder.parent / "archived_sessions" for folder in folders]
    current = (folder.glob("*/*/*/rollout-*.jsonl*") for folder in folders)
    archived = (folder.rglob("rollout-*.jsonl*") for folder in archives)
    logs = [path for paths in (*current, *archived) for path in sorted(paths) if is_session_log(path)]
    # While Codex packs or unpacks a log, there are both.
    return [path for path in logs if (plain := plain_path(path)) == path or not plain.exists()]


def is_session_log(path: Path) -> bool:
    """Whether a file in a log folder is a session's own log, not a sub-agent's log or a tool's output."""
    if plain_path(path).suffix != ".jsonl" or path.name.startswith("agent-"):
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
    """Import one session log into its transcript; existing text stays as it is, byte for byte.

    ``clock`` returns seconds since the epoch; a session without activity for ``IDLE_S`` counts as ended.
    ``find`` looks up the transcript of a session id, by default in the workspace; ``redact`` replaces likely
    keys and passwords with ``[secret]``.

    Raises:
        ImportFailed: The log cannot be read, or another program wrote it.
        WriteFailed, ReadOnly: The transcript could not be written.
    """

    with opened(source) as stream:
        _check_kind(kind, kind_of(stream), source)
        log = SessionLog(kind, source, stream, redact)
        session_id = log.session_id()

        def draft_of(existing: ExistingTranscript | None, spool: Spool | None) -> Draft:
            if existing is None:
                return first_import(log, session_id, clock, spool)
            _check_kind(
                kind, existing.header.get("channel"), source, f"its transcript {existing.path} comes from"
            )
            return next_import(log, session_id, existing, clock, spool)

        look_up = find or partial(find_session, workspace)
        return write_import(files, source, session_id, look_up, draft_of, dry_run=dry_run)


def write_import(
    files: Files,
    source: Path,
    session_id: str,
    find: Callable[[str], str | None],
    draft_of: Callable[[ExistingTranscript | None, Spool | None], Draft],
    *,
    dry_run: bool,
) -> ImportResult:
    """Draft the transcript of a session and write it; start over if another process wrote it first.

    ``find`` looks up the transcript of a session id; ``draft_of`` gets the existing transcript, and a spool
    if the draft is to be written.

    Raises:
        ImportFailed: Other processes keep changing the transcript.
        WriteFailed, ReadOnly: The transcript could not be written.
    """
    for _ in range(_ATTEMPTS):
        target = find(session_id) if session_id else None
        with (
            contextlib.nullcontext() if dry_run else Spool(files) as spool,
            contextlib.suppress(TranscriptChanged),
        ):
            existing = _open_existing(files, target) if target is not None else None
            draft = draft_of(existing, spool)
            if dry_run or draft.content is None:
                return draft.result
            if existing is not None:
                files.replace(existing.path, draft.content())
                return draft.result
            if files.create(draft.result.target, draft.content()):
                return draft.result
        find = partial(find_session, files.workspace)
    raise ImportFailed(
        "other processes keep changing its transcript", where=str(source), hint="try again later"
    )


def _check_kind(kind: Kind, found: object, source: Path, what: str = "comes from") -> None:
    """Refuse a log or transcript of another agent.

    Raises:
        ImportFailed: It belongs to another agent.
    """
    if found != kind and found in get_args(Kind):
        raise ImportFailed(
            f"{what} {_NAMES[found]}, not {_NAMES[kind]}",
            where=str(source),
            hint=f"import it as {found}",
        )


def _open_existing(files: Files, target: str) -> ExistingTranscript | None:
    try:
        return ExistingTranscript(files, target)
    except FileNotFoundError:
        return None
