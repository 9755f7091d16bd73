"""The index of a memory that many machines have clones of, in one PostgreSQL (spec 7.2).

The server is a cache, like memory.db: while it is lost, slow or refuses, searches read the files, and the
next refresh catches up.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from engine.errors import IndexFailed, RepositoryError
from engine.search import vectors
from engine.search.database import FAULTS
from engine.search.embeddings import EMBEDDING_FAULTS, Computing
from engine.search.postgres import schema
from engine.search.postgres.place import machine_of, memory_of
from engine.search.postgres.schema import READ_S
from engine.search.postgres.state import State, bits
from engine.search.postgres.writer import PostgresWriter, model_of
from engine.search.reports import IndexReport, Progress, Unavailable
from engine.search.storage import Storage

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder
    from engine.search.postgres.server import Connections
    from engine.search.table import Floats

_VERIFY_S = 3_600.0
_LEASE_S = 60
"""For so long, other clones leave missing vectors to one that is computing them."""


class SharedIndex(Storage):
    """Reads and writes the shared index of one clone.

    Args:
        url: As ``index.url`` in the settings.
    """

    where = schema.WHERE

    def __init__(self, url: str, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._url = url
        self.root: Path = self._workspace.root
        self.samples: dict[Hashable, Floats] = {}
        """The sample of the vectors last read."""
        self._hidden: tuple[Hashable, list[int]] = (None, [])

    @cached_property
    def _server(self) -> Connections:
        try:
            from engine.search.postgres.server import Connections  # noqa: PLC0415 — an extra
        except ImportError as error:
            what, hint = f"psycopg is not installed ({error})", "run: pip install 'autopoiesis[postgresql]'"
            raise IndexFailed(what, where=schema.WHERE, hint=hint) from error
        return Connections(self._url, memory_of(self.root))

    @contextlib.contextmanager
    def read(self, timeout_s: float | None = None) -> Iterator[State]:
        """See ``Storage.read``.

        Args:
            timeout_s: By default, seconds that a search may take.
        """
        try:
            with self._server.reading(READ_S if timeout_s is None else timeout_s) as server:
                state = State(self, server)
                if not state.is_complete:
                    raise Unavailable("building", "the shared index is being built")
                yield state
        except (IndexFailed, RepositoryError) as error:
            where = f"{error.where}: " if error.where else ""
            raise Unavailable("broken", f"{where}{error.what}", repairable=False) from error
        except (LookupError, TypeError, *FAULTS) as error:
            why = f"the shared index cannot be read ({error})"
            raise Unavailable("broken", why, repairable=False) from error

    def _store(
        self, embedder: Embedder, rows: list[tuple[int, str]], packed: list[bytes], wait_s: float
    ) -> None:
        there = [vector for vector in packed if vector]
        values = numpy.frombuffer(b"".join(there), dtype=numpy.int8).astype(numpy.float32)
        signs = iter(vectors.signs_of(values.reshape(len(there), -1)) if there else ())
        with self._server.writing(wait_s) as server:
            server.execute(
                "INSERT INTO vectors (model, chunk, sum, vector, signs)"
                " SELECT %s, chunk, sum, vector, signs::bit varying"
                " FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[], %s::text[])"
                " AS row (chunk, sum, vector, signs)"
                " WHERE EXISTS (SELECT FROM chunks WHERE id = chunk) ON CONFLICT DO NOTHING",
                (
                    model_of(server, embedder.id, embedder.dimensions)[0],
                    [chunk for chunk, _ in rows],
                    [vectors.sum_of(vector) for vector in packed],
                    packed,
                    [bits(next(signs).tobytes()) if vector else None for vector in packed],
                ),
            )

    @contextlib.contextmanager
    def _computing(self, wait_s: float) -> Iterator[None]:
        """See ``Storage._computing``; a clone that is lost excludes others for a minute."""
        if self._is_slow:
            with self.read() as state:
                holder, model = state.holder, state.model[0]
            with self._server.writing(wait_s) as server:
                leased = server.execute(
                    "UPDATE models SET lease = now() + make_interval(secs => %s), leased = %s WHERE id = %s"
                    " AND (lease < now() OR leased = %s)",
                    (_LEASE_S, holder, model, holder),
                )
            if not leased.rowcount:
                raise Computing("another machine is computing them")
        yield

    def hidden_in(self, state: State) -> list[int]:
        """The files that this clone does not see in a state; computed once for equal states."""
        stamp, found = self._hidden
        if stamp != state.stamp:
            rows = state.query(
                "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY files.path"
                "  ORDER BY holder IS NULL, stamp DESC, id DESC) AS place"
                "  FROM files LEFT JOIN holdings ON file = id AND holder = :holder WHERE files.path IN"
                "  (SELECT path FROM files GROUP BY path HAVING count(*) > 1)) AS versions WHERE place > 1"
                " UNION SELECT id FROM holdings JOIN files USING (path)"
                " WHERE holder = :holder AND file IS NULL",
                holder=state.holder,
            )
            found = [file for (file,) in rows]
            self._hidden = state.stamp, found
        return found

    def close(self) -> None:
        """See ``Storage.close``."""
        if "_server" in vars(self):
            self._server.close()

    def _refresh(
        self, progress: Progress | None, paths: Sequence[str] | None, rebuild: str, wait_s: float
    ) -> IndexReport:
        started = time.monotonic()
        self._server.prepare(wait_s)
        model, why = None, self._without_vectors
        try:
            model = (self.embedder.id, self.embedder.dimensions) if self.embedder else None
        except EMBEDDING_FAULTS as error:
            why = f"the embedding model failed ({error})"
        writer = PostgresWriter(
            self._server,
            machine_of(self.root, make=True),
            model,
            wait_s,
            self._workspace,
            self._files,
            why,
            progress=progress,
            stopping=self._stopping,
        )
        try:
            writer.run(paths, rebuild=bool(rebuild))
            with self._server.reading() as server:
                state = State(self, server)
                return writer.report(state, time.monotonic() - started, rebuild)
        except Unavailable as gone:  # its tables were dropped meanwhile
            raise IndexFailed(gone.why, hint="run it again") from gone

    def _problems(self) -> list[str]:
        try:
            with self.read(_VERIFY_S) as state:
                return list(state.problems())
        except Unavailable as error:
            if error.state == "broken":
                raise IndexFailed(error.why, hint="check the server") from error
            return [error.why]
