"""The index in memory.db: many read it, one process at a time writes it, and it is rebuilt when damaged.

``memory.db`` may be deleted, truncated or damaged at any time without loss: it is a cache of the files.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import apsw

from engine.errors import IndexBusy, IndexFailed, ReadOnly
from engine.search import database, schema, vectors
from engine.search.database import Unavailable
from engine.search.embeddings import as_slow
from engine.search.reports import CategoryCount, IndexReport, IndexStatus, Skipped, VerifyReport
from engine.search.results import CATEGORIES
from engine.store.descriptors import open_folder
from engine.store.files import Files, lock_place

if TYPE_CHECKING:
    from pathlib import Path

    from engine.search.backlog import Backlog
    from engine.search.embeddings import Embedder
    from engine.search.past import Past, PastReader
    from engine.search.sqlite import SqliteEngine
    from engine.search.storage import Turn
    from engine.search.writer import Outcome, Progress
    from engine.store.paths import Workspace

LOCK_NAME = "scratch/.index.lock"
"""Held by the one process that writes the index."""

_ATTEMPTS = 3
_LOCK_SLICE_S = 0.2


class MemoryDb:
    """Reads and writes the index of one workspace in its memory.db (``engine.search.storage.Storage``).

    Args:
        embedder: ``None`` for search by words alone.
        lock_timeout_s: Seconds to wait for another writer.
        stopping: Called between steps; returns whether to stop early.
    """

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
        self._slow = as_slow(embedder)
        self._embedder = None if self._slow else embedder
        self._backlog: Backlog | None = None
        if self._slow is not None and not read_only:
            from engine.search.backlog import Backlog  # noqa: PLC0415 — not needed for quick models

            self._backlog = Backlog(workspace, self._slow, self._exclusive)
        self._without_vectors = without_vectors
        self._read_only = read_only
        self._lock_timeout_s = lock_timeout_s
        self._stopping = stopping
        self._path = workspace.database
        self._threads = threading.RLock()
        self._readers = database.Readers(self._path)
        self._past: PastReader | None = None
        self._model = embedder

    @contextlib.contextmanager
    def read(self, *, vectors: bool = False) -> Iterator[State]:
        """See ``Storage.read``."""
        try:
            with self._readers.borrow(vectors=vectors) as (connection, without):
                _require_ready(connection)
                yield State(self, connection, has_vectors=vectors and not without)
        except schema.ForeignDatabase as error:
            raise Unavailable("broken", f"{error.where} {error.what}", repairable=False) from error
        except database.FAULTS as error:
            if isinstance(error, apsw.BusyError):
                why = "another program has locked the search index"
            else:
                why = f"the search index cannot be read ({error})"
            is_damage, damaged = database.is_damage(error), None
            with contextlib.suppress(OSError):
                damaged = database.identity(self._path)
            raise Unavailable("broken", why, repairable=is_damage, damaged=damaged) from error

    def repair(self, error: Unavailable) -> None:
        """See ``Storage.repair``. A file that has replaced the damaged one since is kept."""
        is_same = error.damaged is not None and error.damaged == database.identity(self._path)
        self.refresh(None, None, rebuild=error.why if is_same else "")

    def seed(self, other: Path) -> None:
        """See ``Storage.seed``."""
        from engine.search.seed import seed  # noqa: PLC0415 — only used for past states of a workspace

        if not self._read_only:
            seed(self._path, other)

    def past(self, connection: apsw.Connection) -> Past:
        """The past sessions as seen by a connection in a transaction."""
        from engine.search.past import PastReader  # noqa: PLC0415 — imports numpy

        self._past = self._past or PastReader()
        return self._past.read(connection)

    def status(self, connection: apsw.Connection) -> IndexStatus:
        """The state of the index as seen by a connection in a transaction."""
        categories = _by_category(connection)
        skipped = connection.execute("SELECT path, skipped FROM files WHERE skipped <> '' ORDER BY path")
        refreshed = schema.get_meta(connection, "refreshed_ns")
        without = database.vector_library()[1]
        found, coming = vectors.progress(connection, self._model) if self._model else (0, "")
        if coming and self._backlog is not None and self._backlog.error:
            coming = f"{coming}: {self._backlog.error}"
        if coming and not found and not without:
            without = coming
        return IndexStatus(
            "ready",
            files=sum(each.files for each in categories),
            chunks=sum(each.chunks for each in categories),
            vectors=found,
            without_vectors=without,
            vectors_coming=coming,
            embedder=schema.get_meta(connection, "embedder"),
            skipped=tuple(Skipped(path, why) for path, why in skipped),
            size=int(connection.pragma("page_count")) * int(connection.pragma("page_size")),
            refreshed=datetime.fromtimestamp(int(refreshed) / 1e9, UTC) if refreshed.isdecimal() else None,
            journal=str(connection.pragma("journal_mode")),
            categories=categories,
        )

    def refresh(
        self,
        progress: Progress | None,
        paths: Sequence[str] | None,
        *,
        rebuild: str = "",
        wait_s: float | None = None,
    ) -> IndexReport:
        """Bring the index up to date; the vectors of a slow model follow in the background.

        Args:
            paths: Files and folders to check; ``None`` for everything.
            rebuild: Why to delete the index first; ``""`` to keep it.
            wait_s: As for ``SearchIndex.refresh``.

        Raises:
            IndexFailed, ReadOnly: As for ``SearchIndex.refresh``.
        """
        report = self._refresh_index(progress, paths, rebuild=rebuild, wait_s=wait_s)
        return report if self._backlog is None else self._backlog.follow(report)

    def finish_vectors(self, progress: Progress | None) -> str:
        """See ``SearchIndex.finish_vectors``."""
        return "" if self._backlog is None else self._backlog.finish(progress)

    def stop(self) -> None:
        """See ``Storage.stop``."""
        if self._backlog is not None:
            self._backlog.close()
        if self._slow is not None:
            self._slow.close()

    def close(self) -> None:
        """See ``Storage.close``."""
        self._readers.close()

    def _refresh_index(
        self,
        progress: Progress | None,
        paths: Sequence[str] | None,
        *,
        rebuild: str = "",
        wait_s: float | None = None,
    ) -> IndexReport:
        started = time.monotonic()
        with self._exclusive(wait_s):
            reason = rebuild
            if rebuild:
                database.remove(self._path)
            for attempt in range(1, _ATTEMPTS + 1):
                existed = self._path.exists()
                try:
                    outcome, chunks, skipped = self._attempt(progress, paths, wait_s)
                except schema.OtherVersion as error:
                    reason = f"it {error.what}"
                    self._remove_image()
                except database.FAULTS as error:
                    if not database.is_damage(error) or attempt == _ATTEMPTS:
                        raise database.user_error(error, self._path) from error
                    reason = f"it was damaged ({error})" if existed else reason
                else:
                    if outcome is not None:
                        return _report(outcome, chunks, skipped, time.monotonic() - started, reason)
                    reason = "it was deleted while being written"
                    continue
                database.remove(self._path)
            raise IndexFailed(
                "the search index keeps being deleted while it is written",
                where=self._path.name,
                hint="find out what deletes it",
            )

    def _remove_image(self) -> None:
        """Delete the copy of the index that versions before schema 7 kept next to the caches."""
        with contextlib.suppress(OSError), open_folder(self._workspace.root, ("scratch",)) as inside:
            os.unlink("search.image", dir_fd=inside)

    def verify(self, progress: Progress | None, *, repair: bool) -> VerifyReport:
        """Check everything, and rebuild the index if anything is wrong.

        Raises:
            IndexFailed, ReadOnly: As for ``SearchIndex.refresh``.
        """
        with self._exclusive():
            found = self._problems()
            if not found or not repair:
                return VerifyReport(tuple(found))
            return VerifyReport(tuple(found), True, self._refresh_index(progress, None, rebuild=found[0]))

    def _attempt(
        self, progress: Progress | None, paths: Sequence[str] | None, wait_s: float | None
    ) -> tuple[Outcome | None, int, tuple[Skipped, ...]]:
        from engine.search.writer import Writer  # noqa: PLC0415 — imports the parsers, which a search never needs

        connection = database.open_writer(
            self._path, database.WRITE_WAIT_S if wait_s is None else min(wait_s, database.WRITE_WAIT_S)
        )
        try:
            opened = database.identity(self._path)
            schema.version_of(connection)  # raises for a foreign database, before anything in it is changed
            database.set_journal(connection, self._path.parent)
            missing = database.load_vectors(connection)
            schema.create(connection)
            if missing and schema.get_meta(connection, "dimensions"):
                raise schema.OtherVersion(f"has vectors, but {missing}")
            if schema.get_meta(connection, "complete") != "1":
                paths = None
            outcome = Writer(
                connection,
                self._workspace,
                self._files,
                None if missing else self._embedder,
                self._without_vectors or missing,
                progress=progress,
                stopping=self._stopping,
            ).run(paths)
            chunks = int(connection.execute("SELECT chunks FROM totals").get)
            rows = connection.execute("SELECT path, skipped FROM files WHERE skipped <> '' ORDER BY path")
            skipped = tuple(Skipped(path, why) for path, why in rows)
            if paths is None:
                # After a few files the log may stay: truncating it syncs the disk, the most expensive step.
                connection.set_busy_timeout(0)
                with contextlib.suppress(apsw.BusyError, apsw.LockedError):  # readers keep it in use
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return (outcome if database.identity(self._path) == opened else None), chunks, skipped
        finally:
            connection.close(True)

    def _problems(self) -> list[str]:
        from engine.search.verify import problems  # noqa: PLC0415 — only writers check

        if not self._path.exists() and not database.file_problem(self._path):
            return ["there is no search index"]
        try:
            connection = database.open_writer(self._path)
            try:
                if schema.version_of(connection) != schema.VERSION:
                    return ["it was built by another version of the program"]
                if schema.get_meta(connection, "complete") != "1":
                    return ["it is not complete"]
                return problems(connection)
            finally:
                connection.close(True)
        except database.FAULTS as error:
            if not database.is_damage(error):
                raise database.user_error(error, self._path) from error
            return [f"it is damaged ({error})"]

    @contextlib.contextmanager
    def _exclusive(self, wait_s: float | None = None) -> Iterator[None]:
        """Hold the write lock, which excludes other threads and processes; reentrant within a thread."""
        if self._read_only:
            raise ReadOnly("the workspace is read-only", where=self._path.name)
        from filelock import FileLock, Timeout  # noqa: PLC0415 — takes 15 ms, and readers never need it

        wait_s = self._lock_timeout_s if wait_s is None else wait_s
        deadline = time.monotonic() + wait_s
        with contextlib.ExitStack() as held:
            while not self._threads.acquire(timeout=min(wait_s, _LOCK_SLICE_S)):
                self._check_waiting(deadline, "this program is still indexing")
            held.callback(self._threads.release)
            try:
                lock = FileLock(lock_place(self._workspace, LOCK_NAME), is_singleton=True)
                while True:
                    with contextlib.suppress(Timeout):
                        lock.acquire(timeout=min(wait_s, _LOCK_SLICE_S), poll_interval=0.02)
                        break
                    self._check_waiting(deadline, "another program is indexing")
            except OSError as error:
                raise ReadOnly(
                    f"the search index cannot be locked ({error.strerror})",
                    where=LOCK_NAME,
                    hint="check the permissions of the workspace",
                ) from error
            held.callback(lock.release)
            yield

    def _check_waiting(self, deadline: float, why: str) -> None:
        """Raise ``IndexBusy`` unless there is time and reason to go on waiting for another writer."""
        if self._stopping() or time.monotonic() > deadline:
            raise IndexBusy(why, where=self._path.name, hint="try again when it has finished")


def _report(
    outcome: Outcome, chunks: int, skipped: tuple[Skipped, ...], seconds: float, rebuilt: str
) -> IndexReport:
    done = asdict(outcome)
    unnameable = tuple(Skipped(path, "its name is not UTF-8") for path in done.pop("unnameable"))
    return IndexReport(**done, skipped=skipped + unnameable, chunks=chunks, seconds=seconds, rebuilt=rebuilt)


class State:
    """One state of memory.db (``engine.search.storage.State``)."""

    def __init__(self, storage: MemoryDb, connection: apsw.Connection, *, has_vectors: bool) -> None:
        self._storage = storage
        self._connection = connection
        self._has_vectors = has_vectors

    def has_vectors_of(self, embedder: Embedder) -> bool:
        """See ``storage.State.has_vectors_of``."""
        return self._has_vectors and vectors.are_from(self._connection, embedder)

    def engine(self, dimensions: int) -> SqliteEngine:
        """See ``storage.State.engine``."""
        from engine.search.sqlite import SqliteEngine  # noqa: PLC0415 — imports numpy

        return SqliteEngine(self._connection, dimensions)

    def past(self) -> Past:
        """See ``storage.State.past``."""
        return self._storage.past(self._connection)

    def turns(self, file: int, position: int | None) -> list[Turn]:
        """See ``storage.State.turns``."""
        return list(
            self._connection.execute(
                "SELECT start_line, end_line, speaker, heading, date, text FROM chunks"
                " WHERE file_id = ?1 AND position = coalesce(?2, position) ORDER BY position",
                (file, position),
            )
        )

    def status(self) -> IndexStatus:
        """See ``storage.State.status``."""
        return self._storage.status(self._connection)


def _require_ready(connection: apsw.Connection) -> None:
    version = schema.version_of(connection)
    if version != schema.VERSION:
        if not version:
            raise Unavailable("missing", "the search index is empty")
        raise Unavailable("outdated", "the search index was built by another version")
    if schema.get_meta(connection, "complete") != "1":
        raise Unavailable("building", "the search index is being built")


def _by_category(connection: apsw.Connection) -> tuple[CategoryCount, ...]:
    """The contents of the index by category, from the ``files`` table, which is small."""
    rows = connection.execute(
        "SELECT CAST(category AS TEXT), sum(skipped = ''), CAST(sum(chunk_count) AS INTEGER),"
        " sum(skipped <> '') FROM files GROUP BY category"
    )
    return in_order([CategoryCount(str(category), *numbers) for category, *numbers in rows])


def in_order(found: Iterable[CategoryCount]) -> tuple[CategoryCount, ...]:
    """Counts in the order of ``CATEGORIES``."""
    known = {each.category: each for each in found}
    return tuple(
        known[name] for name in (*CATEGORIES, *sorted(known.keys() - set(CATEGORIES))) if name in known
    )
