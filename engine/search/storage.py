"""Keeps the index of one workspace, in memory.db or in a PostgreSQL that machines share (spec 7.2)."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, IndexBusy, ReadOnly
from engine.search.embeddings import BATCH_TEXTS, EMBEDDING_FAULTS, SLOW_TEXTS, embedded
from engine.search.reports import IndexReport, Progress, Unavailable, VerifyReport

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder
    from engine.search.past import PastReader
    from engine.search.state import Sample, State
    from engine.store.files import Files
    from engine.store.paths import Workspace


_AFTER_ALL = 1 << 62
"""A row id after all others."""


class Storage(ABC):
    """Keeps the index of one workspace. Thread-safe.

    Args:
        embedder: ``None`` for search by words alone.
        lock_timeout_s: Seconds to wait for another writer.
        stopping: Called between steps; returns whether to stop early.
    """

    where: str
    """What errors name."""
    made = 0
    """Number of vectors computed by this object."""
    sample: tuple[Hashable, Sample] | None = None
    """See ``state.Home``."""
    error = ""
    """Why computing vectors last failed, in one clause; empty if it did not."""

    def __init__(
        self,
        workspace: Workspace,
        files: Files,
        embedder: Embedder | None,
        without_vectors: str,
        *,
        read_only: bool,
        lock_timeout_s: float,
        stopping: Callable[[], bool],
    ) -> None:
        self._workspace = workspace
        self._files = files
        self.embedder = embedder
        self._without_vectors = without_vectors
        self._read_only = read_only
        self._lock_timeout_s = lock_timeout_s
        self._stopping = stopping
        self._threads = threading.RLock()
        self._is_slow = embedder is not None and embedder.is_slow

    @abstractmethod
    def read(self) -> AbstractContextManager[State]:
        """A state to read, while the context lasts.

        Raises:
            Unavailable: There is no complete index, or reading it failed, also within the context.
        """

    @abstractmethod
    def _refresh(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuild: str, wait_s: float
    ) -> IndexReport: ...

    @abstractmethod
    def _problems(self) -> list[str]: ...

    @abstractmethod
    def _store(
        self, embedder: Embedder, rows: list[tuple[int, str]], packed: list[bytes], wait_s: float
    ) -> None:
        """Store the packed vectors of chunks that are still there, and still lack one."""

    @abstractmethod
    def close(self) -> None:
        """Close what is open."""

    def refresh(
        self,
        progress: Progress | None,
        paths: Sequence[str] | None,
        *,
        rebuild: str = "",
        wait_s: float | None = None,
    ) -> IndexReport:
        """See ``SearchIndex.refresh``; ``rebuild`` is why to delete the index first, empty to keep it.

        The vectors of a slow model are left to be computed.
        """
        wait_s = self._lock_timeout_s if wait_s is None else wait_s
        with self.exclusive(wait_s):
            return self._refreshed(progress, paths, rebuild, wait_s)

    def verify(self, progress: Progress | None, *, repair: bool) -> VerifyReport:
        """See ``SearchIndex.verify``."""
        with self.exclusive():
            found = tuple(self._problems())
            if not found or not repair:
                return VerifyReport(found)
            done = self._refreshed(progress, None, found[0], self._lock_timeout_s)
            return VerifyReport(found, True, done)

    def why_rebuild(self, error: Unavailable) -> str:
        """Why to delete the index after an error of ``read`` that is repairable; empty to keep it."""
        return ""

    def count_missing(self) -> int:
        """The number of chunks that lack a vector of the model; 0 if there is no usable index."""
        try:
            with self.read() as state:
                return state.missing()
        except Unavailable:
            return 0

    @cached_property
    def past_reader(self) -> PastReader:
        """Keeps the past sessions."""
        from engine.search.past import PastReader  # noqa: PLC0415 — imports numpy

        return PastReader()

    def embed(self, progress: Progress | None = None, wait_s: float | None = None) -> None:
        """Compute the missing vectors, those of the latest chunks first. Nothing is locked while the model is
        called; if it fails, ``error`` says why, and the next refresh resumes.

        Args:
            wait_s: Seconds to wait for another writer, each time.
        """
        wait_s = self._lock_timeout_s if wait_s is None else wait_s
        total, done, before = 0, 0, _AFTER_ALL
        try:
            while self.embedder is not None and not self._stopping():
                with self.read() as state:
                    total = total or state.missing()
                    rows = state.to_embed(SLOW_TEXTS if self._is_slow else BATCH_TEXTS, before)
                if not rows:
                    break
                if progress is not None:
                    progress(done, total)
                packed = embedded(self.embedder, [text for _, text in rows])
                self._store(self.embedder, rows, packed, wait_s)
                self.made += sum(map(bool, packed))
                done, before = done + len(rows), rows[-1][0]
            self.error = ""
        except (IndexBusy, Unavailable):
            pass  # what is written can be found by its words, and the next refresh goes on
        except (AutopoiesisError, OSError) as error:
            self.error = str(error)
        if total and progress is not None:
            progress(total, total)

    def _refreshed(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuild: str, wait_s: float
    ) -> IndexReport:
        """Refresh, and compute the vectors of a quick model that are missing."""
        report = self._refresh(progress, paths, rebuild, wait_s)
        if self._is_slow or report.vectors or report.stopped or not report.waiting:
            return report
        before = self.made
        self.embed(progress, wait_s)
        return replace(report, embedded=self.made - before, vectors=self.error, waiting=0)

    def _model(self) -> tuple[tuple[str, int] | None, str]:
        """The id and dimensions of the model; without them, why, in one clause."""
        try:
            if self.embedder is not None:
                return (self.embedder.id, self.embedder.dimensions), ""
        except EMBEDDING_FAULTS as error:
            return None, f"the embedding model failed ({error})"
        return None, self._without_vectors

    @contextlib.contextmanager
    def exclusive(self, wait_s: float | None = None) -> Iterator[None]:
        """Let no other thread of this program write; reentrant within a thread.

        Raises:
            IndexBusy: Another thread was not done within ``wait_s``.
            ReadOnly: The workspace is.
        """
        if self._read_only:
            raise ReadOnly("the workspace is read-only", where=self.where)
        if not self._threads.acquire(timeout=self._lock_timeout_s if wait_s is None else wait_s):
            raise self._busy("this program is still indexing")
        try:
            yield
        finally:
            self._threads.release()

    def _busy(self, why: str) -> IndexBusy:
        return IndexBusy(why, where=self.where, hint="try again when it has finished")
