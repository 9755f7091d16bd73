"""The index in memory.db: many read it, one process at a time writes it, and it is rebuilt when damaged.

``memory.db`` may be deleted, truncated or damaged at any time without loss: it is a cache of the files.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engine.errors import EmbeddingFailed, IndexFailed, ReadOnly
from engine.search import database, schema, vectors
from engine.search.reports import IndexReport, Progress, Unavailable
from engine.search.storage import Storage
from engine.store.files import lock_place

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder
    from engine.search.sqlite import State

LOCK_NAME = "scratch/.index.lock"
"""Held by the one process that writes the index."""

_ATTEMPTS = 3


class MemoryDb(Storage):
    """Reads and writes the index of one workspace in its memory.db."""

    where = "memory.db"

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._path = self._workspace.database
        self._readers = database.Readers(self._path)

    @contextlib.contextmanager
    def read(self) -> Iterator[State]:
        """See ``Storage.read``."""
        from engine.search.sqlite import State  # noqa: PLC0415 — imports numpy

        try:
            with self._readers.borrow() as (connection, without):
                schema.require_complete(connection)
                yield State(self, connection, has_vectors=not without)
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

    def why_rebuild(self, error: Unavailable) -> str:
        """See ``Storage.why_rebuild``. A file that has replaced the damaged one since is kept."""
        is_same = error.damaged is not None and error.damaged == database.identity(self._path)
        return error.why if is_same else ""

    def _store(
        self, embedder: Embedder, rows: list[tuple[int, str]], packed: list[bytes], wait_s: float
    ) -> None:
        try:
            with self.exclusive(wait_s), contextlib.closing(database.open_writer(self._path)) as connection:
                schema.require_complete(connection)
                database.set_journal(connection, self._path.parent)
                if why := database.load_vectors(connection):
                    raise EmbeddingFailed(why)
                with connection:
                    vectors.store(connection, embedder, rows, packed)
        except database.FAULTS as error:
            raise database.user_error(error, self._path) from error

    def close(self) -> None:
        """See ``Storage.close``."""
        self._readers.close()

    def _refreshed(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuild: str, wait_s: float
    ) -> IndexReport:
        report = super()._refreshed(progress, paths, rebuild, wait_s)
        if paths is None:
            # After a few files the log may stay: truncating it syncs the disk, the most expensive step.
            with (
                contextlib.suppress(*database.FAULTS),  # readers keep it in use
                contextlib.closing(database.open_writer(self._path, 0)) as connection,
            ):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return report

    def _refresh(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuild: str, wait_s: float
    ) -> IndexReport:
        if rebuild:
            database.remove(self._path)
        for attempt in range(1, _ATTEMPTS + 1):
            existed = self._path.exists()
            try:
                report = self._attempt(progress, paths, rebuild, min(wait_s, database.WRITE_WAIT_S))
            except schema.OtherVersion as error:
                rebuild = f"it {error.what}"
            except database.FAULTS as error:
                if not database.is_damage(error) or attempt == _ATTEMPTS:
                    raise database.user_error(error, self._path) from error
                rebuild = f"it was damaged ({error})" if existed else rebuild
            else:
                if report is not None:
                    return report
                rebuild = "it was deleted while being written"
                continue
            database.remove(self._path)
        raise IndexFailed(
            "the search index keeps being deleted while it is written",
            where=self._path.name,
            hint="find out what deletes it",
        )

    def _attempt(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuilt: str, wait_s: float
    ) -> IndexReport | None:
        """What was done; ``None`` if the file was deleted meanwhile."""
        from engine.search.sqlite import State  # noqa: PLC0415 — imports numpy
        from engine.search.sqlite_writer import SqliteWriter  # noqa: PLC0415 — imports the parsers, which a search never needs

        started = time.monotonic()
        connection = database.open_writer(self._path, wait_s)
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
            writer = SqliteWriter(
                connection,
                self._workspace,
                self._files,
                self._model()[1] or missing,
                progress=progress,
                stopping=self._stopping,
            )
            writer.run(paths)
            state = State(self, connection, has_vectors=not missing)
            report = writer.report(state, time.monotonic() - started, rebuilt)
            return report if database.identity(self._path) == opened else None
        finally:
            connection.close(True)

    def _problems(self) -> list[str]:
        from engine.search.sqlite import State  # noqa: PLC0415 — imports numpy
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
                return problems(connection, State(self, connection))
            finally:
                connection.close(True)
        except database.FAULTS as error:
            if not database.is_damage(error):
                raise database.user_error(error, self._path) from error
            return [f"it is damaged ({error})"]

    @contextlib.contextmanager
    def exclusive(self, wait_s: float | None = None) -> Iterator[None]:
        """Hold the write lock, which excludes other threads and processes; reentrant within a thread."""
        from filelock import FileLock, Timeout  # noqa: PLC0415 — takes 15 ms, and readers never need it

        wait_s = self._lock_timeout_s if wait_s is None else wait_s
        with super().exclusive(wait_s):
            try:
                lock = FileLock(lock_place(self._workspace, LOCK_NAME), is_singleton=True)
                held = lock.acquire(wait_s, 0.02, cancel_check=self._stopping)
            except Timeout as error:
                raise self._busy("another program is indexing") from error
            except OSError as error:
                raise ReadOnly(
                    f"the search index cannot be locked ({error.strerror})",
                    where=LOCK_NAME,
                    hint="check the permissions of the workspace",
                ) from error
            with held:
                yield
