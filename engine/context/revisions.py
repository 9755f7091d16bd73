"""Compiles prompts from any commit, tag or date of the workspace's history (design 5).

The files of the commit are written under ``scratch/``, indexed there and opened as a workspace. So topics,
settings, search and compiler behave as in a clone at that commit, with the commit's time as the clock. The
gate is never asked about the past: answers of a local gate count, and questions to another gate count as
failed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from engine.errors import AutopoiesisError, PathRefused, ReadOnly, RepositoryError
from engine.store import descriptors, revisions
from engine.store.faults import reach
from engine.store.files import READ_LIMIT, Files, reported
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
_LEFT_S = 24 * 60 * 60.0
"""Age of a folder from which its process has surely been killed."""

Progress = Callable[[int, int], None]
"""Called with the number of steps done and in total."""

_READ_WHOLE = ("knowledge/", "topics/", "raw/conversations/", "conversations/", "archive/", "logs/")
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
"""Errors of the disk, not of a file's name."""
_PROMPT_LIMIT = 1024 * 1024
"""Bytes above which files outside these folders are never read."""


class PastEngine(Protocol):
    """The part of ``Engine`` needed for a past state."""

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

    def refresh_index(self, progress: Progress | None) -> object: ...

    def problems(self) -> Sequence[Problem]: ...


class OpenEngine(Protocol):
    """Opens a workspace, like ``Engine.open``."""

    def __call__(
        self, root: Path, *, read_only: bool = ..., clock: Callable[[], datetime] = ...
    ) -> PastEngine: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A past state, open for reading."""

    commit: Commit
    engine: PastEngine
    problems: tuple[str, ...]  # about files that were left out or invalid


class Revisions:
    """Opens commits of a workspace; changes only ``scratch/``."""

    def __init__(
        self,
        files: Files,
        repository: Repository,
        *,
        engines: OpenEngine,
        now: PastEngine,
        clock: Callable[[], datetime],
    ) -> None:
        self._repository = repository
        self._engines = engines
        self._now = now
        self._clock = clock
        self._files = files

    def find(self, text: str) -> Commit | None:
        """The commit of a revision, tag, branch, hash or date; ``None`` for ``now``.

        Raises:
            RepositoryError: There is no such commit.
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
            budget: By default the setting at that time.
            session_id: The session whose turns until then are the history.
            progress: Called while files are indexed.

        Raises:
            RepositoryError: The commit is not a workspace, or the clone lacks part of it.
            ConfigError: Its settings are invalid.
            BudgetError, TranscriptError: As ``Engine.compile``.
            WriteFailed: There is not enough disk space.
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
        """A read-only engine of a past state, whose files are written anew and kept while the context lasts.

        Raises:
            RepositoryError, ConfigError, WriteFailed: As ``compile``.
        """

        def clock() -> datetime:
            return commit.at

        with self._folder() as folder:
            with reported(FOLDER):
                notes = _lay_out(self._repository, commit, folder)
            with _of(commit), self._engines(folder, clock=clock) as made:
                made.refresh_index(progress)
            with _of(commit):
                engine = self._engines(folder, read_only=True, clock=clock)
            with engine:
                broken = (problem for problem in engine.problems() if problem.severity == "error")
                problems = (*notes, *(f"{commit.revision[:8]}:{problem}" for problem in broken))
                yield Opened(commit, engine, problems)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        """A new folder on the disk of the workspace, or else the system's, removed in the end."""
        workspace, place = self._files.workspace, None
        with contextlib.suppress(ReadOnly):
            self._files.refuse_read_only(FOLDER)
            parts = workspace.resolve(FOLDER).relative_to(workspace.root).parts
            with reported(FOLDER), descriptors.open_folder(workspace.root, parts, create=True):
                place = workspace.root.joinpath(*parts)
        if place is not None:
            for left in place.iterdir():
                with contextlib.suppress(OSError):
                    if left.stat(follow_symlinks=False).st_mtime < time.time() - _LEFT_S:
                        shutil.rmtree(left, ignore_errors=True)
        with reported(FOLDER):
            reach("folder:create")
            made = tempfile.TemporaryDirectory(prefix="autopoiesis-", dir=place, ignore_cleanup_errors=True)
        with made as folder:
            yield Path(os.path.realpath(folder))


@contextlib.contextmanager
def _of(commit: Commit) -> Iterator[None]:
    """Adds the revision to errors of a past state."""
    try:
        yield
    except AutopoiesisError as error:
        name = commit.revision[:8]
        error.where = f"{name}:{error.where}" if error.where else name
        if error.where.startswith(f"{name}:{CONFIG_NAME}"):
            error.hint = "a commit cannot be changed; choose another revision"
        raise


def _unasked(engine: PastEngine, text: str, name: str) -> list[str]:
    """The problem that names the topics about which the gate would have been asked."""
    trace = engine.pipeline.process(text, record=False, ask=False)
    names = [row.topic for row in trace.rows if row.gate is not None and row.gate.answer == "failed"]
    if not names:
        return []
    topics = ", ".join(map(shown, names))
    return [f"{name}: the gate is not asked about the past, so gate.on_failure decided about {topics}"]


def _lay_out(repository: Repository, commit: Commit, folder: Path) -> tuple[str, ...]:
    """Writes the files of a commit to an empty folder; returns one line for each entry that is left out."""
    name = commit.revision[:8]
    with _of(commit):
        listed = revisions.entries(repository.git, commit.revision)
    if not any(entry.path == CONFIG_NAME and entry.kind == "file" for entry in listed):
        raise RepositoryError(
            f"commit {revisions.described(commit)} is not a workspace: it has no {CONFIG_NAME}",
            where=str(repository.workspace.root),
            hint=f"find commits with it: git log -- {CONFIG_NAME}",
        )
    notes: list[str] = []
    wanted: list[TreeEntry] = []
    for entry in listed:
        if _is_cache(entry.path):
            continue
        reason = _refusal(entry)
        if reason:
            notes.append(f"{name}:{shown(entry.path)}: left out: {reason}")
        else:
            wanted.append(entry)
    at_ns = int(commit.at.timestamp()) * 1_000_000_000
    with _of(commit):
        whole = revisions.contents(repository.git, [each for each in wanted if not _is_unread(each)])
        for entry, data in chain(whole, ((each, None) for each in wanted if _is_unread(each))):
            try:
                _write(folder, entry.path, data, at_ns)
            except OSError as error:
                if error.errno in _DISK:
                    raise
                notes.append(f"{name}:{shown(entry.path)}: left out: {error.strerror}")
    return tuple(notes)


def _is_cache(path: str) -> bool:
    """Whether a path is that of a cache, which can always be deleted."""
    return path.startswith(("scratch/", "memory.db")) or path == "scratch"


def _is_unread(entry: TreeEntry) -> bool:
    """Whether a file is too large to be read, so that a sparse file of its size is enough."""
    return entry.size > _PROMPT_LIMIT and not entry.path.startswith(_READ_WHOLE)


def _refusal(entry: TreeEntry) -> str:
    """Why an entry is left out; empty if it is not."""
    if entry.kind != "file":
        return "symlinks are not followed" if entry.kind == "symlink" else "submodules are not supported"
    try:
        split_relative(entry.path)
    except PathRefused as error:
        return f"its path {error.what}"
    return f"it is larger than {READ_LIMIT // (1024 * 1024)} MiB" if entry.size > READ_LIMIT else ""


def _write(folder: Path, path: str, data: bytes | None, at_ns: int) -> None:
    """Creates a file with the commit's modification time, in ns; ``None`` creates a large sparse file."""
    place = folder / path
    reach("temp:create")
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        reach("temp:write")
        if data is None:
            os.ftruncate(descriptor, _PROMPT_LIMIT + 1)
        else:
            descriptors.write_all(descriptor, data)
        os.utime(descriptor, ns=(at_ns, at_ns))
    finally:
        os.close(descriptor)
