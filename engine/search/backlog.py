"""Computes the vectors of a slow model in the background, while files change and searches run (spec 7.2).

Files can be found by their words as soon as they are indexed; their chunks wait here for the model. The model
is called without holding the index lock, which is taken only for the milliseconds it takes to store finished
vectors. A separate lock keeps two processes from paying for the same vectors.

The first vectors of a new model replace all existing ones; until the model has answered once, the old ones
are kept. After an interruption, the next refresh resumes, in any process.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw

from engine.errors import AutopoiesisError, EmbeddingFailed, PathRefused
from engine.search import database, schema, vectors
from engine.search.embeddings import EMBEDDING_FAULTS
from engine.store.files import lock_place

if TYPE_CHECKING:
    from engine.search.embeddings import SlowEmbedder
    from engine.search.reports import IndexReport
    from engine.search.writer import Progress
    from engine.store.paths import Workspace

LOCK_NAME = "scratch/.vectors.lock"
"""Held by the one process that calls the model."""
FEW = 64
"""A refresh waits for the vectors if no more chunks than this are missing them."""
PATIENCE_S = 3.0
"""How long it waits."""

_TEXTS = 32
_LEAST_TEXTS, _MOST_TEXTS = 8, 256
_QUICK_S, _LONG_S = 1.0, 4.0
"""After a quicker batch the batch size is doubled, after a slower one halved."""
_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 300.0
"""Pause after a failure, doubled each time."""
_POLL_S = 0.05


class Backlog:
    """The chunks of one workspace that wait for the vectors of a slow model.

    Thread-safe, but no method may be called while holding the index lock. ``exclusive`` takes that lock.
    """

    def __init__(
        self,
        workspace: Workspace,
        embedder: SlowEmbedder,
        exclusive: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._path = workspace.database
        self._workspace = workspace
        self._embedder = embedder
        self._exclusive = exclusive
        self._closing = threading.Event()
        self._again = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = False
        self._texts = _TEXTS
        self.made = 0
        """Number of vectors computed by this object."""
        self.error = ""
        """Why the last attempt failed, in one clause; empty if it succeeded."""

    def follow(self, report: IndexReport) -> IndexReport:
        """Start computing missing vectors after a refresh, and wait briefly if there are few.

        Returns:
            The report, with the vector fields filled in.
        """
        missing = self.count_missing()
        if not missing:
            return report
        before = self.made
        self._wake()
        if missing <= FEW:
            self._wait(PATIENCE_S)
        return replace(report, embedded=self.made - before, vectors=self.error, waiting=self.count_missing())

    def finish(self, progress: Progress | None) -> str:
        """Block until all vectors are computed and the background thread is done, or computing them fails.

        ``progress`` is called from this thread, and only if vectors were missing.

        Returns:
            Why it failed, in one clause; empty if it did not.
        """
        left = total = self.count_missing()
        if total:
            self.error = ""
            self._again.set()
            self._wake()
        elif not self._is_at_work():
            return ""
        else:
            progress = None
        while self._is_at_work():
            left = min(left, self.count_missing())
            if progress is not None:
                progress(total - left, total)
            self._wait(4 * _POLL_S)
        if progress is not None and not self.error:
            progress(total, total)
        return self.error

    def count_missing(self) -> int:
        """The number of chunks without a vector; 0 if there is no usable index."""
        try:
            with self._reader() as connection:
                return vectors.count_missing(connection, self._embedder)
        except (database.Unavailable, *database.FAULTS, *EMBEDDING_FAULTS):
            return 0

    def close(self) -> None:
        """Stop the background thread and close the model."""
        self._closing.set()
        self._again.set()
        self._embedder.close()
        with self._guard:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wake(self) -> None:
        with self._guard:
            if self._closing.is_set():
                return
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="search index vectors", daemon=True)
                self._thread.start()

    def _is_at_work(self) -> bool:
        with self._guard:
            return self._thread is not None and not self.error

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._is_at_work() and time.monotonic() < until:
            time.sleep(_POLL_S)

    def _work(self) -> None:
        pause = _PAUSE_S / 2
        while True:
            with self._guard:
                if not self._wanted or self._closing.is_set():
                    self._thread = None
                    return
                self._wanted = False
            before = self.made
            self._again.clear()
            try:
                with self._alone():
                    self._make_all()
                self.error = ""
                continue
            except database.Unavailable:
                continue  # the next refresh builds an index and calls this again
            except EMBEDDING_FAULTS as error:
                self.error = _why(error)
            except apsw.Error as error:
                self.error = f"the vectors cannot be stored ({error})"
            pause = _PAUSE_S if self.made > before else min(2 * pause, _LONGEST_PAUSE_S)
            self._texts = max(_LEAST_TEXTS, self._texts // 2)
            if not self._closing.is_set():
                self._again.wait(pause)
            with self._guard:
                self._wanted = True

    def _make_all(self) -> None:
        while not self._closing.is_set():
            with self._reader() as connection:
                index = schema.get_meta(connection, "index")
                rows = vectors.missing_texts(connection, self._embedder, self._texts)
            if not rows:
                with self._writer(index) as connection:
                    vectors.mark_settled(connection)
                return
            started = time.monotonic()
            found = self._embedder.embed([text for _, text in rows])
            took = time.monotonic() - started
            if found.shape != (len(rows), self._embedder.dimensions):
                raise EmbeddingFailed("its vectors do not have the declared size")
            self._store(index, rows, vectors.packed(found))
            self.error = ""
            if took < _QUICK_S:
                self._texts = min(_MOST_TEXTS, 2 * self._texts)
            elif took > _LONG_S:
                self._texts = max(_LEAST_TEXTS, self._texts // 2)

    def _store(self, index: str, rows: list[tuple[int, str]], packed: list[bytes]) -> None:
        with self._writer(index) as connection, connection:
            vectors.prepare(connection, self._embedder)
            # A chunk may have been removed by now, and its id reused.
            waiting = dict(vectors.still_missing(connection, [chunk for chunk, _ in rows]))
            stored = [
                (chunk, vector)
                for (chunk, text), vector in zip(rows, packed, strict=True)
                if waiting.get(chunk) == text
            ]
            vectors.complete(connection, stored)
        self.made += sum(1 for _, vector in stored if vector)

    @contextlib.contextmanager
    def _reader(self) -> Iterator[apsw.Connection]:
        """A read connection to a complete index, in a transaction for a consistent view.

        Raises:
            Unavailable: There is no complete index.
        """
        connection = database.open_reader(self._path)
        try:
            connection.execute("BEGIN")
            if schema.version_of(connection) != schema.VERSION:
                raise database.Unavailable("outdated", "the search index was built by another version")
            if schema.get_meta(connection, "complete") != "1":
                raise database.Unavailable("building", "the search index is being built")
            yield connection
        finally:
            connection.close(True)

    @contextlib.contextmanager
    def _writer(self, index: str) -> Iterator[apsw.Connection]:
        """A write connection to the index with this id, holding the index lock.

        Raises:
            Unavailable: The index is missing or has been replaced.
        """
        with self._exclusive():
            with self._reader() as connection:
                if schema.get_meta(connection, "index") != index:
                    raise database.Unavailable("missing", "the search index was rebuilt")
            connection = database.open_writer(self._path)
            try:
                database.set_journal(connection, self._path.parent)
                if why := database.load_vectors(connection):
                    raise EmbeddingFailed(why)
                yield connection
            finally:
                connection.close(True)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Ensure that no other process calls the model.

        Raises:
            _LockHeld: Another process is calling it, or the lock cannot be used.
        """
        from filelock import FileLock, Timeout  # noqa: PLC0415 — takes 15 ms, and readers never need it

        try:
            lock = FileLock(lock_place(self._workspace, LOCK_NAME))
            lock.acquire(timeout=0)
        except PathRefused as error:
            raise _LockHeld(str(error)) from error
        except Timeout:
            pass
        else:
            try:
                yield
            finally:
                lock.release()
            return
        raise _LockHeld("another program is computing them")


class _LockHeld(AutopoiesisError):
    """Another process computes the vectors, or the lock path is refused as unsafe."""


def _why(error: BaseException) -> str:
    return str(error) if isinstance(error, _LockHeld) else f"the embedding model failed ({error})"
