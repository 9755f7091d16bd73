"""Imports sessions: writes transcripts, checks for secrets, makes one commit, and undoes it (spec 3.2)."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from engine.errors import AutopoiesisError, ImportFailed, RepositoryError
from engine.redaction.commits import NAME_HINT, CommitCheck
from engine.settings.model import Config
from engine.store.change import ChangeCommit, commit_change, commit_message
from engine.store.comparison import Comparison
from engine.store.files import READ_LIMIT, Files
from engine.store.header import locate
from engine.store.paths import Workspace
from engine.store.repository import Repository
from engine.transcripts.chats.importing import import_chats
from engine.transcripts.days import iso
from engine.transcripts.importers.drafts import ImportResult
from engine.transcripts.importers.lines import opened
from engine.transcripts.importers.log import Kind, kind_of
from engine.transcripts.importers.run import import_file
from engine.transcripts.importers.state import STATE_FIELD, KnownSessions, is_imported
from engine.transcripts.places import FOLDER, head_fields, read_head
from engine.transcripts.projects import FOLDER as PROJECT_LOG
from engine.transcripts.projects import Projects

_IMPORT_TRAILER = "Import"
_UNDO_TRAILER = "Undoes"
_SEARCHED_COMMITS = 1000


class Importing(Protocol):
    """What an import needs from the engine."""

    workspace: Workspace
    files: Files
    config: Config
    clock: Callable[[], datetime]

    @property
    def repository(self) -> Repository: ...


@dataclass(frozen=True, slots=True)
class Source:
    """A file to import."""

    path: Path
    kind: Kind | None = None  # the agent whose log it is; ``None`` to detect it from the content


@dataclass(frozen=True, slots=True)
class HeldTranscript:
    """A transcript left out of the commit."""

    path: str
    lines: tuple[int, ...]
    """Lines with what looks like a secret; empty if the transcript is left out for another reason."""
    why: str  # one clause


@dataclass(frozen=True, slots=True)
class ImportRun:
    """The result of an import."""

    results: tuple[ImportResult, ...]  # one for each session
    left_out: Mapping[str, int] = field(default_factory=dict)  # number of skipped items by reason
    commit: ChangeCommit = field(default_factory=ChangeCommit)
    committed: tuple[str, ...] = ()  # the transcripts in that commit
    held: tuple[HeldTranscript, ...] = ()  # transcripts left out of it


def import_sessions(
    engine: Importing,
    sources: Iterable[Source],
    *,
    dry_run: bool = False,
    commit: bool = True,
    on_result: Callable[[ImportResult], None] = lambda _result: None,
) -> ImportRun:
    """Imports files and commits the transcripts; unreadable files are skipped.

    Args:
        commit: Commit at the end if the settings allow it; ``commit_imported`` can do so later.
        on_result: Called with the result of each session.

    Raises:
        WriteFailed, ReadOnly: A transcript could not be written.
    """
    results: list[ImportResult] = []
    left_out: Counter[str] = Counter()
    if commit and not dry_run and engine.config.git.auto_commit:
        # What a person has edited must not be part of the import's commit, which can be undone.
        with contextlib.suppress(RepositoryError):
            _commit_edited(engine, _changed(engine)[0])
    for result in _imported(engine, sources, dry_run):
        results.append(result)
        left_out.update(result.left_out)
        on_result(result)
    if not dry_run:
        targets = dict.fromkeys(result.target for result in results if result.target)
        Projects(engine.files, engine.clock).note(engine.workspace.root / target for target in targets)
    if dry_run or not commit:
        return ImportRun(tuple(results), left_out)
    change, committed, held = commit_imported(engine, results)
    return ImportRun(tuple(results), left_out, change, committed, held)


def commit_imported(
    engine: Importing, results: Iterable[ImportResult] = (), *, by_hand: bool = False
) -> tuple[ChangeCommit, tuple[str, ...], tuple[HeldTranscript, ...]]:
    """Commits all uncommitted imported transcripts, including those of an interrupted import. Those that only
    a person has changed get a commit of their own.

    Args:
        by_hand: Whether a person asked for it, which overrides ``git.auto_commit``.

    Returns:
        The last commit, the transcripts committed, and those left out.
    """
    if not (by_hand or engine.config.git.auto_commit):
        return ChangeCommit(why="git.auto_commit is off"), (), ()
    try:
        edited, paths, held = _changed(engine)
        commit_projects(engine)
    except RepositoryError as error:
        return ChangeCommit(why=str(error)), (), ()
    change = _commit_edited(engine, edited)
    done = edited if change.revision else ()
    if not paths:
        return change, done, held
    formats = {result.target: result.format for result in results}
    counts = Counter(formats[path] for path in paths if path in formats)
    at = iso(engine.clock())
    noun = "session" if len(paths) == 1 else "sessions"
    body = ", ".join(f"{count} from {name}" for name, count in counts.most_common())
    what, trailers = f"import {len(paths)} {noun}", [(_IMPORT_TRAILER, at)]
    message = commit_message("conversation", what, body, sessions=paths, trailers=trailers)
    change = commit_change(lambda: engine.repository, paths, message, wanted=True)
    return change, (*done, *paths) if change.revision else done, held


def commit_projects(engine: Importing) -> ChangeCommit:
    """Commits the record of projects, on its own, since undoing an import keeps it.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    paths = engine.repository.changed(PROJECT_LOG)
    if not paths:
        return ChangeCommit(why="nothing new to commit")
    message = commit_message("maintenance", "names of projects")
    return commit_change(lambda: engine.repository, paths, message, wanted=True)


def _changed(engine: Importing) -> tuple[tuple[str, ...], tuple[str, ...], tuple[HeldTranscript, ...]]:
    """The uncommitted imported transcripts: those that only a person has changed, the others, and those that
    may not be committed.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    compared = Comparison(engine.repository.git, has_commits=engine.repository.has_commits)
    edited: list[str] = []
    written: list[str] = []
    held: list[HeldTranscript] = []
    for path in engine.repository.changed(FOLDER):
        if not is_imported(engine.workspace.root / path):
            continue
        found = _secrets(engine.files, compared, path)
        if found is not None:
            held.append(found)
        else:
            (edited if _is_edited(engine.files, compared, path) else written).append(path)
    return tuple(edited), tuple(written), tuple(held)


def _is_edited(files: Files, compared: Comparison, path: str) -> bool:
    """Whether no import has written a transcript since its commit, so that a person has changed it."""
    before = compared.before(path)
    if before is None:
        return False
    headers = (locate(before).mapping, locate(files.read(path)).mapping)
    then, now = (header.get(STATE_FIELD) if header else None for header in headers)
    return then is not None and then == now


def _commit_edited(engine: Importing, paths: Sequence[str]) -> ChangeCommit:
    """Commits transcripts that a person has changed."""
    if not paths:
        return ChangeCommit(why="nothing new to commit")
    noun = "transcript" if len(paths) == 1 else "transcripts"
    message = commit_message("conversation", f"{len(paths)} {noun} as edited", sessions=paths)
    return commit_change(lambda: engine.repository, paths, message, wanted=True)


def _imported(engine: Importing, sources: Iterable[Source], dry_run: bool) -> Iterator[ImportResult]:
    known = KnownSessions(engine.workspace)
    for source in sources:
        try:
            for result in _results(engine, source, known, dry_run):
                if result.target:
                    known.transcripts.setdefault(result.session_id, result.target)
                yield result
        except ImportFailed as error:
            yield ImportResult(source.path, status="skipped", why=error.what)


def _results(
    engine: Importing, source: Source, known: KnownSessions, dry_run: bool
) -> Iterator[ImportResult]:
    """Imports a file: one session of an agent log, or the conversations of a chat export."""
    path, kind, files, redact = source.path, source.kind, engine.files, engine.config.capture.redact

    def now() -> float:
        return engine.clock().timestamp()

    if kind is None:
        with opened(path) as stream:
            kind = kind_of(stream)
    if kind is None:
        yield from import_chats(path, files, known, dry_run=dry_run, clock=now, redact=redact)
    else:
        find = known.transcripts.get
        yield import_file(
            kind, path, engine.workspace, files, dry_run=dry_run, clock=now, find=find, redact=redact
        )


def _secrets(files: Files, compared: Comparison, path: str) -> HeldTranscript | None:
    """Why a transcript may not be committed; ``None`` if it may."""
    try:
        data = files.read(path, limit=READ_LIMIT)
        found = list(CommitCheck(files.read).refusals(path, data, partial(compared.before, path)))
    except AutopoiesisError as error:
        return HeldTranscript(path, (), str(error))
    lines = tuple(dict.fromkeys(line for line, _ in found if line))
    if not found:
        return None
    return HeldTranscript(path, lines, found[0][1] if lines else f"{found[0][1]}; {NAME_HINT}")


@dataclass(frozen=True, slots=True)
class ImportUndo:
    """What undoing an import would do."""

    revision: str
    at: datetime
    subject: str
    removed: tuple[str, ...]  # transcripts that it created; they would be deleted
    restored: tuple[str, ...]  # transcripts that it extended; they would be restored
    blocked: tuple[str, ...]  # transcripts changed since; if there are any, nothing is undone


def last_import(engine: Importing) -> ImportUndo | None:
    """The last import in the history that was not undone; ``None`` if there is none.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    undone: set[str] = set()
    for commit in engine.repository.log(_SEARCHED_COMMITS, path=FOLDER):
        trailers = commit.body.split("\n")
        undone |= {line.removeprefix(f"{_UNDO_TRAILER}: ") for line in trailers}
        if commit.revision in undone or not any(line.startswith(f"{_IMPORT_TRAILER}: ") for line in trailers):
            continue
        changes = engine.repository.changes(commit.revision)
        blocked = tuple(
            path
            for letter, path in changes
            if not _can_be_undone(engine, commit.revision, path, is_new=letter == "A")
        )
        removed = tuple(path for letter, path in changes if letter == "A")
        restored = tuple(path for letter, path in changes if letter != "A")
        return ImportUndo(commit.revision, commit.at, commit.subject, removed, restored, blocked)
    return None


def undo_import(
    engine: Importing, undo: ImportUndo, retract: Callable[[list[str]], object] = lambda _sessions: None
) -> ChangeCommit:
    """Undoes an import: deletes the transcripts it created and restores the ones it extended.

    Args:
        retract: Takes back what was made of sessions, given the ids of the deleted ones. It precedes the
            commit, which records the undo, so that an interrupted one is repeated as a whole.

    Raises:
        RepositoryError: A transcript has changed since, or the repository cannot commit now.
        WriteFailed, ReadOnly: A transcript could not be written.
    """
    state = engine.repository.state(count=False)
    if not state.can_commit:
        raise RepositoryError(state.why, where=str(engine.workspace.root), hint=state.hint)
    with engine.files.lock():  # no import may write in between
        for path in (*undo.removed, *undo.restored):
            if not _can_be_undone(engine, undo.revision, path, is_new=path in undo.removed):
                raise RepositoryError(
                    "changed since the import; nothing was undone",
                    where=path,
                    hint="restore it, or commit the deletion by hand, and retry",
                )
        sessions = [_session_in(engine, undo.revision, path) for path in undo.removed]
        for path in undo.restored:
            engine.files.replace(path, engine.repository.show(f"{undo.revision}^", path))
        for path in undo.removed:
            if (engine.workspace.root / path).exists():
                engine.files.remove(path)
        retract(sessions)
    paths = (*undo.removed, *undo.restored)
    noun = "session" if len(paths) == 1 else "sessions"
    what = f"undo the import of {len(paths)} {noun}"
    message = commit_message("conversation", what, trailers=[(_UNDO_TRAILER, undo.revision)])
    return commit_change(lambda: engine.repository, paths, message, wanted=True)


def _session_in(engine: Importing, revision: str, path: str) -> str:
    """The id of an imported session, whose transcript an interrupted undo may have deleted."""
    place = engine.workspace.root / path
    head = read_head(place) if place.exists() else engine.repository.show(revision, path)
    return head_fields(head, ("session_id",))["session_id"]


def _can_be_undone(engine: Importing, revision: str, path: str, *, is_new: bool) -> bool:
    """Whether a transcript is as an import committed it, or as it was before, if an undo was interrupted."""
    try:
        now = engine.files.read(path, limit=None)
    except FileNotFoundError:
        return is_new
    if now == engine.repository.show(revision, path):
        return True
    return not is_new and now == engine.repository.show(f"{revision}^", path)
