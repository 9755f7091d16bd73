"""The workspace as it was: prompts compiled from any commit, tag or date of its history (design 5).

The files of the commit are laid out below ``scratch/``, indexed there, and opened as what they were: a
workspace. So topics, settings, search and compiler do what they would do in a clone that was checked out at
that commit, with that commit's time as the clock. The gate is never asked about the past: what a local gate
calculates counts, and what another gate would have to be asked counts as not answered.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from engine.errors import AutopoiesisError, PathRefused, RepositoryError, WriteFailed
from engine.store import revisions
from engine.store.descriptors import write_all
from engine.store.faults import reach
from engine.store.files import READ_LIMIT, Files
from engine.store.folder_cache import FolderCache
from engine.store.paths import CONFIG_NAME, shown, split_relative
from engine.store.repository import Commit, Repository
from engine.store.revisions import TreeEntry

if TYPE_CHECKING:
    from engine.activation.pipeline import WatcherPipeline
    from engine.context.compiled import Compiled
    from engine.errors import Problem
    from engine.search.results import SearchResult
    from engine.settings.model import Config
    from engine.topics.library import TopicLibrary

FOLDER = "scratch/revisions"

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all."""

_READ_WHOLE = ("knowledge/", "topics/", "raw/conversations/", "conversations/", "archive/", "logs/")
_PROMPT_LIMIT = 1024 * 1024
"""Bytes above which a file outside these folders is read by nothing."""

_ROOM = 16 * 1024 * 1024
_UNUSABLE = {
    errno.ENAMETOOLONG: "its path is too long for this disk",
    errno.EEXIST: "another file has its name on this disk",
    errno.EISDIR: "another file has its name on this disk",
    errno.ENOTDIR: "another file has the name of its folder",
    errno.EILSEQ: "its name cannot be written on this disk",
    errno.EINVAL: "its name cannot be written on this disk",
}


class Past(Protocol):
    """What is needed of the engine of a past state; ``Engine`` is one."""

    files: Files
    config: Config

    @property
    def library(self) -> TopicLibrary: ...

    @property
    def pipeline(self) -> WatcherPipeline: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def compile(
        self, text: str, *, budget: int | None = ..., session_id: str = ..., ask: bool = ...
    ) -> Compiled: ...

    def search(self, query: str, *, limit: int = ...) -> Sequence[SearchResult]: ...

    def seed_index(self, database: Path) -> None: ...

    def refresh_index(self, progress: Progress | None) -> object: ...

    def problems(self) -> Sequence[Problem]: ...


class Open(Protocol):
    """Opens a workspace; ``Engine.open`` is it."""

    def __call__(self, root: Path, *, read_only: bool = ..., clock: Callable[[], datetime] = ...) -> Past: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A past state, open for reading."""

    commit: Commit
    engine: Past
    problems: tuple[str, ...]  # what could not be laid out, or was unusable then


class Revisions:
    """Goes back to commits of a workspace. Changes nothing but ``scratch/``."""

    def __init__(
        self,
        files: Files,
        repository: Repository,
        *,
        engines: Open,
        now: Past,
        clock: Callable[[], datetime],
    ) -> None:
        self._repository = repository
        self._engines = engines
        self._now = now
        self._clock = clock
        self._database = files.workspace.database
        self._cache = FolderCache(files, FOLDER, unsealed=_is_cache)

    def find(self, text: str) -> Commit | None:
        """The commit that a revision, tag, branch, hash or date means; ``None`` for ``now``.

        Raises:
            RepositoryError: There is none; the message says what there is.
        """
        return revisions.find(self._repository, text, self._clock(), self._now.config.days.time_zone)

    def compile(
        self,
        text: str,
        commit: Commit | None,
        *,
        budget: int | None = None,
        session_id: str = "",
        progress: Progress | None = None,
    ) -> Compiled:
        """The prompt for a message as it would have been; the gate is not asked.

        Args:
            commit: ``None`` for the working tree.
            budget: The setting of that time when left out.
            session_id: The session whose turns up to then belong to it.
            progress: Called while a state has to be laid out and indexed first.

        Raises:
            RepositoryError: The commit is not a workspace, or the clone lacks a part of it.
            ConfigError: Its settings cannot be used; names revision, file and line.
            BudgetError, TranscriptError: As ``Engine.compile``.
            WriteFailed: There is no room to lay it out.
        """
        if commit is None:
            compiled = self._now.compile(text, budget=budget, session_id=session_id, ask=False)
            return replace(compiled, problems=(*compiled.problems, *_unasked(self._now, text, revisions.NOW)))
        with self.opened(commit, progress) as past:
            with _of(commit):
                compiled = past.engine.compile(text, budget=budget, session_id=session_id, ask=False)
            problems = (
                *past.problems,
                *(f"{commit.revision[:8]}:{problem}" for problem in compiled.problems),
                *_unasked(past.engine, text, commit.revision[:8]),
            )
            return replace(compiled, problems=tuple(dict.fromkeys(problems)))

    @contextlib.contextmanager
    def opened(self, commit: Commit, progress: Progress | None = None) -> Iterator[Opened]:
        """An engine of a past state, for reading; the state stays laid out while the context lasts.

        Raises:
            RepositoryError, ConfigError, WriteFailed: As ``compile``.
        """

        def clock() -> datetime:
            return commit.at

        def make(folder: Path) -> tuple[str, ...]:
            notes, steps = _lay_out(self._repository, commit, folder, progress)
            with _of(commit), self._engines(folder, clock=clock) as made:
                made.seed_index(self._database)
                made.refresh_index(_second_half(steps, progress))
                # Fits tier 2 to the topics of then, and keeps the fit.
                made.pipeline.process(".", record=False, ask=False)
            return notes

        with self._cache.hold(commit.revision, make) as held:
            with _of(commit), self._engines(held.folder, clock=clock) as made:
                # Nothing to do, unless another version of the program has made the index.
                made.refresh_index(None)
            with _of(commit):
                engine = self._engines(held.folder, read_only=True, clock=clock)
            with engine:
                broken = (problem for problem in engine.problems() if problem.severity == "error")
                problems = (*held.notes, *(f"{commit.revision[:8]}:{problem}" for problem in broken))
                yield Opened(commit, engine, problems)


@contextlib.contextmanager
def _of(commit: Commit) -> Iterator[None]:
    """Marks the errors of a past state as such."""
    try:
        yield
    except AutopoiesisError as error:
        name = commit.revision[:8]
        error.where = f"{name}:{error.where}" if error.where else name
        if error.where.startswith(f"{name}:{CONFIG_NAME}"):
            error.hint = "what is committed stays as it is; choose another revision"
        raise


def _unasked(engine: Past, text: str, name: str) -> list[str]:
    """The line that names the topics about which another gate than the local one would have been asked."""
    trace = engine.pipeline.process(text, record=False, ask=False)
    names = [row.topic for row in trace.rows if row.gate is not None and row.gate.answer == "failed"]
    if not names:
        return []
    topics = ", ".join(map(shown, names))
    return [f"{name}: the gate is not asked for this, so gate.on_failure decided on {topics}"]


def _second_half(steps: int, progress: Progress | None) -> Progress | None:
    """The progress of an index that is made after so many steps, as if it took as many again."""
    if progress is None:
        return None
    told = progress
    return lambda done, total: told(steps + (steps * done // total if total else steps), 2 * steps)


def _lay_out(
    repository: Repository, commit: Commit, folder: Path, progress: Progress | None
) -> tuple[tuple[str, ...], int]:
    """Writes the files of a commit into an empty folder.

    Returns:
        One line for each entry that is left out, and the number of steps taken.
    """
    name = commit.revision[:8]
    with _of(commit):
        listed = revisions.entries(repository.git, commit.revision)
    if not any(entry.path == CONFIG_NAME and entry.kind == "file" for entry in listed):
        raise RepositoryError(
            f"the commit {revisions.described(commit)} is not a workspace: it holds no {CONFIG_NAME}",
            where=str(repository.workspace.root),
            hint=f"find those that do with: git log -- {CONFIG_NAME}",
        )
    notes: list[str] = []
    wanted: list[TreeEntry] = []
    for entry in listed:
        if _is_cache(entry.path.split("/", 1)[0]):
            continue
        why_not = _refusal(entry)
        if why_not:
            notes.append(f"{name}:{shown(entry.path)}: {why_not}")
        else:
            wanted.append(entry)
    whole = [entry for entry in wanted if not _is_hollow(entry)]
    _require_room(folder, sum(entry.size for entry in whole))
    hollow = ((entry, None) for entry in wanted if _is_hollow(entry))
    steps = max(1, len(wanted))
    at_ns = int(commit.at.timestamp()) * 1_000_000_000
    with _of(commit):
        for done, (entry, data) in enumerate(chain(revisions.contents(repository.git, whole), hollow)):
            try:
                _write(folder, entry.path, data, at_ns)
            except OSError as error:
                if error.errno not in _UNUSABLE:
                    raise
                notes.append(f"{name}:{shown(entry.path)}: is left out: {_UNUSABLE[error.errno]}")
            if progress is not None and not done % 64:
                progress(done, 2 * steps)
    return tuple(notes), steps


def _is_cache(name: str) -> bool:
    """Whether a name at the top of a workspace is one of what can be deleted at any moment."""
    return name == "scratch" or name.startswith("memory.db")


def _refusal(entry: TreeEntry) -> str:
    """Why an entry is not laid out; empty when it is."""
    if entry.kind == "symlink":
        return "is left out: a symlink is not followed into the past"
    if entry.kind == "submodule":
        return "is left out: a submodule has a history of its own"
    try:
        split_relative(entry.path)
    except PathRefused as error:
        return f"is left out: its path {error.what}"
    if entry.size > READ_LIMIT and entry.path.startswith(_READ_WHOLE):
        return f"is left out: it is larger than {READ_LIMIT // (1024 * 1024)} MiB"
    return ""


def _is_hollow(entry: TreeEntry) -> bool:
    """Whether a file is laid out as a hole of its size: it is too large to be read, and refused as such."""
    return entry.size > _PROMPT_LIMIT and not entry.path.startswith(_READ_WHOLE)


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size + _ROOM > free:
        raise WriteFailed(
            f"the files take {size / 1024**2:,.0f} MiB, and {free / 1024**2:,.0f} MiB are free",
            where=FOLDER,
            hint="free some disk space and try again",
        )


def _write(folder: Path, path: str, data: bytes | None, at_ns: int) -> None:
    """Makes a file in a private folder; its modification time is that of the commit.

    Args:
        data: ``None`` for a hole that is too large to be read.
        at_ns: Time of its last change, nanoseconds since 1970.
    """
    place = folder / path
    reach("temp:create")
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        reach("temp:write")
        if data is None:
            os.ftruncate(descriptor, _PROMPT_LIMIT + 1)
        else:
            write_all(descriptor, data)
        os.utime(descriptor, ns=(at_ns, at_ns))
    finally:
        os.close(descriptor)
