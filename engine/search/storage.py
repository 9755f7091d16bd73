"""Keeps the index of one workspace, in memory.db or in a PostgreSQL that machines share (spec 7.2)."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from engine.errors import EmbeddingFailed, IndexBusy, ReadOnly
from engine.search.embeddings import BATCH_TEXTS, SLOW_TEXTS, Computing, embedded
from engine.search.reports import IndexReport, Progress, Unavailable, VerifyReport

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder
    from engine.search.past import PastReader
    from engine.search.state import State
    from engine.store.files import Files
    from engine.store.paths import Workspace


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
    """Number of vectors computed by this object, not counting those of new chunks."""

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
    def _computing(self, wait_s: float) -> AbstractContextManager[None]:
        """Ensure that no other program computes missing vectors, which may cost something.

        Raises:
            Computing: Another one does.
        """

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

    def embed_some(self, wait_s: float | None = None) -> int:
        """Compute some missing vectors; returns the number of chunks, 0 if none lacks one.

        Raises:
            Computing: Another program is computing them.
            IndexBusy: Another writer was not done within ``wait_s``.
            Unavailable: There is no complete index.
            EmbeddingFailed: The model failed.
            IndexFailed, apsw.Error, OSError: The vectors cannot be stored.
        """
        if self.embedder is None:
            return 0
        wait_s = self._lock_timeout_s if wait_s is None else wait_s
        with self._computing(wait_s):
            with self.read() as state:
                rows = state.to_embed(SLOW_TEXTS if self._is_slow else BATCH_TEXTS)
            if rows:
                packed = embedded(self.embedder, [text for _, text in rows])
                self._store(self.embedder, rows, packed, wait_s)
                self.made += sum(map(bool, packed))
        return len(rows)

    def _refreshed(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuild: str, wait_s: float
    ) -> IndexReport:
        """Refresh, and compute the vectors of a quick model that are missing."""
        report = self._refresh(progress, paths, rebuild, wait_s)
        total = left = 0 if self._is_slow or report.vectors or report.stopped else report.waiting
        before, why = self.made, report.vectors
        try:
            while left > 0 and not self._stopping():
                if progress is not None:
                    progress(total - left, total)
                left = left - done if (done := self.embed_some(wait_s)) else 0
        except (Computing, IndexBusy, Unavailable):
            pass  # another program does it, or what is written can be found by its words
        except EmbeddingFailed as error:
            why = str(error)
        if total and progress is not None:
            progress(total, total)
        return replace(report, embedded=report.embedded + self.made - before, vectors=why, waiting=0)

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
