"""The index of a memory that many machines have clones of, in one PostgreSQL (spec 7.2).

The server is a cache, like memory.db: while it is lost, slow or refuses, searches read the files, and the
next refresh catches up.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

from engine.errors import IndexBusy, IndexFailed, ReadOnly, RepositoryError
from engine.search.database import FAULTS, Unavailable
from engine.search.embeddings import EMBEDDING_FAULTS, as_slow
from engine.search.memory_db import in_order
from engine.search.postgres import schema
from engine.search.postgres.engine import PastSessions, PostgresEngine, Samples, hidden
from engine.search.postgres.place import Place, find, key_of, machine_of
from engine.search.postgres.schema import READ_S
from engine.search.postgres.verify import problems
from engine.search.postgres.writer import Writer, model_of
from engine.search.reports import CategoryCount, IndexReport, IndexStatus, Skipped, VerifyReport

if TYPE_CHECKING:
    from pathlib import Path

    from engine.search.embeddings import Embedder
    from engine.search.past import Past
    from engine.search.postgres.schema import Server
    from engine.search.postgres.server import Connections
    from engine.search.storage import Turn
    from engine.search.writer import Progress
    from engine.store.files import Files
    from engine.store.paths import Workspace

_VERIFY_S = 3_600.0


class SharedIndex:
    """Reads and writes the shared index of one clone (``engine.search.storage.Storage``).

    The vectors of a slow model are computed while refreshing, after all files can be found by their words.

    Args:
        url: As ``index.url`` in the settings.
        embedder: ``None`` for search by words alone.
        lock_timeout_s: Seconds to wait for another writer.
        stopping: Called between steps; returns whether to stop early.
    """

    def __init__(
        self,
        url: str,
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
        self._embedder = embedder
        self._without_vectors = without_vectors
        self._read_only = read_only
        self._lock_timeout_s = lock_timeout_s
        self._stopping = stopping
        self._threads = threading.Lock()
        self.samples = Samples()
        self.past_sessions = PastSessions()
        self._problem: IndexFailed | None = None
        try:
            from engine.search.postgres.server import Connections  # noqa: PLC0415 — an extra

            self._connections = Connections(url)
        except ImportError as error:
            what, hint = f"psycopg is not installed ({error})", "run: pip install 'autopoiesis[postgresql]'"
            self._problem = IndexFailed(what, where=schema.WHERE, hint=hint)
        except IndexFailed as error:
            self._problem = error

    @contextlib.contextmanager
    def read(self, *, vectors: bool = False) -> Iterator[State]:
        """See ``Storage.read``."""
        with self._read(READ_S) as state:
            yield state

    @contextlib.contextmanager
    def _read(self, timeout_s: float) -> Iterator[State]:
        try:
            with self._server.reading(timeout_s=timeout_s) as server:
                place = find(server, self._key, machine_of(self._workspace.root))
                if place is None:
                    raise Unavailable("missing", "the shared index does not have this memory yet")
                if not place.complete:
                    raise Unavailable("building", "the shared index is being built")
                yield State(self, server, place)
        except (IndexFailed, RepositoryError) as error:
            raise Unavailable("broken", f"{error.where}: {error.what}", repairable=False) from error
        except (LookupError, TypeError, *FAULTS) as error:
            why = f"the shared index cannot be read ({error})"
            raise Unavailable("broken", why, repairable=False) from error

    def refresh(
        self,
        progress: Progress | None,
        paths: Sequence[str] | None,
        *,
        rebuild: str = "",
        wait_s: float | None = None,
    ) -> IndexReport:
        """See ``Storage.refresh``."""
        with self._alone(wait_s) as wait_s:
            return self._refresh(progress, paths, rebuild=rebuild, wait_s=wait_s)

    def verify(self, progress: Progress | None, *, repair: bool) -> VerifyReport:
        """See ``Storage.verify``."""
        with self._alone(None) as wait_s:
            try:
                with self._read(_VERIFY_S) as state:
                    found = tuple(problems(state.server, state.place.workspace))
            except Unavailable as error:
                if error.state == "broken":
                    raise IndexFailed(error.why, hint="check the server") from error
                found = (error.why,)
            if not found or not repair:
                return VerifyReport(found)
            return VerifyReport(found, True, self._refresh(progress, None, rebuild=found[0], wait_s=wait_s))

    def repair(self, error: Unavailable) -> None:
        """See ``Storage.repair``."""
        self.refresh(None, None)

    def finish_vectors(self, progress: Progress | None) -> str:
        """See ``Storage.finish_vectors``."""
        if self._embedder is None or self._read_only:
            return ""
        return self.refresh(progress, []).vectors

    def seed(self, other: Path) -> None:
        """See ``Storage.seed``: clones of one memory already share what they have in common."""

    def stop(self) -> None:
        """See ``Storage.stop``."""
        if (slow := as_slow(self._embedder)) is not None:
            slow.close()

    def close(self) -> None:
        """See ``Storage.close``."""
        if self._problem is None:
            self._connections.close()

    def model_of(self, server: Server, place: Place) -> tuple[int, int, str]:
        """The row id of the model in use, the number of its vectors, and its id; zeros without any."""
        try:
            if self._embedder is not None:
                name = self._embedder.id
                return (*model_of(server, place.workspace, name, self._embedder.dimensions), name)
        except EMBEDDING_FAULTS:
            pass  # whatever uses the model says why
        return 0, 0, ""

    def _refresh(
        self, progress: Progress | None, paths: Sequence[str] | None, *, rebuild: str, wait_s: float
    ) -> IndexReport:
        started = time.monotonic()
        self._server.prepare(wait_s)
        writer = Writer(
            self._server,
            self._key,
            machine_of(self._workspace.root, make=True),
            self._workspace,
            self._files,
            self._embedder,
            self._without_vectors,
            progress=progress,
            wait_s=wait_s,
            stopping=self._stopping,
        )
        done = asdict(writer.run(paths, rebuild=bool(rebuild)))
        skipped = tuple(Skipped(path, "its name is not UTF-8") for path in done.pop("unnameable"))
        waiting = chunks = 0
        with self._server.reading() as server:
            if place := find(server, self._key, machine_of(self._workspace.root)):
                chunks = place.chunks
                skipped = (*(Skipped(*row) for row in skipped_by(server, place)), *skipped)
                model, vectors, _ = self.model_of(server, place)
                waiting = chunks - vectors if model else 0
        seconds = time.monotonic() - started
        return IndexReport(
            **done, skipped=skipped, chunks=chunks, waiting=waiting, seconds=seconds, rebuilt=rebuild
        )

    @contextlib.contextmanager
    def _alone(self, wait_s: float | None) -> Iterator[float]:
        """Let one thread of this program write at a time; yields the seconds to wait for other programs."""
        if self._read_only:
            raise ReadOnly("the workspace is read-only", where=schema.WHERE)
        wait_s = self._lock_timeout_s if wait_s is None else wait_s
        deadline = time.monotonic() + wait_s
        while not self._threads.acquire(timeout=min(wait_s, 0.2)):
            if self._stopping() or time.monotonic() > deadline:
                hint = "try again when it has finished"
                raise IndexBusy("this program is still indexing", where=schema.WHERE, hint=hint)
        try:
            yield wait_s
        finally:
            self._threads.release()

    @property
    def _server(self) -> Connections:
        if self._problem is not None:
            raise self._problem
        return self._connections

    @cached_property
    def _key(self) -> str:
        return key_of(self._workspace.root)


class State:
    """One state of a shared index (``engine.search.storage.State``)."""

    def __init__(self, storage: SharedIndex, server: Server, place: Place) -> None:
        self._storage = storage
        self.server = server
        self.place = place

    @cached_property
    def _model(self) -> tuple[int, int, str]:
        return self._storage.model_of(self.server, self.place)

    def has_vectors_of(self, embedder: Embedder) -> bool:
        """See ``storage.State.has_vectors_of``."""
        return self._model[0] > 0

    def engine(self, dimensions: int) -> PostgresEngine:
        """See ``storage.State.engine``."""
        return PostgresEngine(
            self.server, self.place, self._storage.samples, self._model[0] if dimensions else 0, dimensions
        )

    def past(self) -> Past:
        """See ``storage.State.past``."""
        return self._storage.past_sessions.read(self.server, self.place)

    def turns(self, file: int, position: int | None) -> list[Turn]:
        """See ``storage.State.turns``."""
        found = self.server.execute(
            "SELECT start_line, end_line, speaker, heading, date, text FROM chunks"
            " WHERE content = %s AND position = coalesce(%s, position) ORDER BY position",
            (file, position),
        )
        return [(row[0], row[1], row[2], row[3], row[4], row[5]) for row in found]

    def status(self) -> IndexStatus:
        """See ``storage.State.status``."""
        server, place = self.server, self.place
        rows = server.execute(
            "SELECT category, sum(files)::int, sum(chunks)::int, sum(skipped)::int FROM ("
            " SELECT category, 1 AS files, chunks, 0 AS skipped FROM contents"
            " WHERE workspace = %s AND id <> ALL (%s::bigint[])"
            " UNION ALL SELECT category, 0, 0, 1 FROM holdings WHERE holder = %s AND skipped <> ''"
            ") AS each GROUP BY category",
            (place.workspace, hidden(server, place), place.holder),
        )
        categories = in_order(CategoryCount(*row) for row in rows)
        ((refreshed, size),) = server.execute(
            "SELECT (SELECT refreshed FROM holders WHERE id = %s), (SELECT sum(pg_total_relation_size(oid))"
            " FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r')::bigint",
            (place.holder, schema.SCHEMA),
        ).fetchall()
        model, vectors, name = self._model
        coming = f"{vectors:,} of {place.chunks:,} chunks have vectors" if vectors < place.chunks else ""
        return IndexStatus(
            "ready",
            files=sum(each.files for each in categories),
            chunks=sum(each.chunks for each in categories),
            vectors=vectors,
            without_vectors=coming if not vectors else "",
            vectors_coming=coming if model else "",
            embedder=name if model else "",
            skipped=tuple(Skipped(*row) for row in skipped_by(server, place)),
            size=size,
            refreshed=refreshed,
            categories=categories,
        )


def skipped_by(server: Server, place: Place) -> list[tuple[str, str]]:
    """The files that a clone has not indexed, and why."""
    rows = server.execute(
        "SELECT path, skipped FROM holdings WHERE holder = %s AND skipped <> '' ORDER BY path",
        (place.holder,),
    )
    return [(path, why) for path, why in rows]
