"""The index of a memory that many machines have clones of, in one PostgreSQL (spec 7.2).

The server is a cache, like memory.db: while it is lost, slow or refuses, searches read the files, and the
next refresh catches up.

As in memory.db, only the rarest words are looked up, or the latest chunks with a common one, and the ranking
is the same; GIN and HNSW indexes name the candidates. A clone sees its own version of each file; of a file
that it has not, the newest.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from engine.errors import IndexFailed, RepositoryError
from engine.search import state, vectors
from engine.search.database import FAULTS
from engine.search.postgres import schema
from engine.search.postgres.place import machine_of, memory_of
from engine.search.postgres.schema import READ_S
from engine.search.postgres.writer import FORM, PostgresWriter, model_of
from engine.search.reports import IndexReport, IndexStatus, Progress, Unavailable
from engine.search.state import Scope, Word, columns, rarest
from engine.search.storage import Storage
from engine.search.vectors import PLANES, signs_of
from engine.search.verify import rows
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder
    from engine.search.postgres.schema import Server
    from engine.search.postgres.server import Connections
    from engine.search.table import Floats

_VERIFY_S = 3_600.0
_VALUE = expression(r"(?<!:):([a-z]+)")

PACKED = "array_send(terms)"
"""Reads the terms of a chunk for ``unsigned``."""


class State(state.State):
    """One state of a shared index.

    A clone is told of the sessions that it itself has: what another person's clone has is found by a search,
    but told to no one unasked.
    """

    SESSIONS = (
        "SELECT id, stamp FROM holdings JOIN files ON id = holdings.file"
        " JOIN sessions ON sessions.file = id WHERE holder = :holder"
    )
    SKIPPED = "SELECT path, skipped FROM holdings WHERE holder = :holder AND skipped <> '' ORDER BY path"
    CATEGORIES = (
        "SELECT category, sum(files)::int, sum(chunks)::int, sum(skipped)::int FROM ("
        " SELECT category, 1 AS files, chunks, 0 AS skipped FROM files WHERE id <> ALL (:hidden)"
        " UNION ALL SELECT category, 0, 0, 1 FROM holdings WHERE holder = :holder AND skipped <> ''"
        ") AS each GROUP BY category"
    )
    FILES = f"SELECT id, chunks, extent, digest, form = '{FORM}', path, category, date, '' FROM files"
    TERMS = PACKED
    damage = IndexFailed
    home: SharedIndex

    def __init__(self, home: SharedIndex, server: Server) -> None:
        super().__init__(home)
        self._server = server
        found = self.query(
            "SELECT complete, stamp, chunks, length, files, coalesce(id, 0), refreshed FROM totals"
            " LEFT JOIN holders ON machine = :machine",
            machine=machine_of(home.root),
        )
        self.is_complete, stamp, *totals, holder, self._refreshed = found[0]
        self.totals = (totals[0], totals[1], totals[2])
        self.holder: int = holder
        self._stamp = holder, stamp

    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """See ``state.State.query``."""
        return self._server.execute(_VALUE.sub(r"%(\1)s", sql).encode(), values, binary=True).fetchall()

    @staticmethod
    def each(name: str) -> str:
        """See ``state.State.each``."""
        return f"SELECT unnest(:{name}::bigint[])"

    @property
    def stamp(self) -> Hashable:
        """See ``state.State.stamp``."""
        return self._stamp

    @property
    def own(self) -> dict[str, Any]:
        """See ``state.State``."""
        return {"holder": self.holder, "hidden": self.hidden}

    @cached_property
    def hidden(self) -> list[int]:
        """The files that this clone does not see: versions of files of which it has another one, or the
        newest is another one, and of files that it has deleted or could not read.
        """
        return self.home.hidden_in(self)

    def _model_of(self, embedder: Embedder) -> tuple[int, int]:
        return model_of(self._server, embedder.id, embedder.dimensions)

    def _of_model(self) -> str:
        return f"model = {self.model.id}"

    def stored(self, file: int) -> list[tuple[Any, ...]]:
        """See ``state.State.stored``."""
        return [(*row[:14], unsigned(row[14]), row[15]) for row in super().stored(file)]

    def problems(self) -> Iterator[str]:
        """What differs from what was written, one clause each; of other programs' files only the counts."""
        yield from rows(self, Counter())
        for model, count, dimensions in self.query("SELECT id, rows, dimensions FROM models"):
            found = self.query("SELECT sum, vector FROM vectors WHERE model = :model", model=model)
            if len(found) != count or any(
                vectors.sum_of(vector) != total or len(vector) not in (0, dimensions)
                for total, vector in found
            ):
                yield "its vectors differ from what was written"

    def _details(self) -> IndexStatus:
        ((size,),) = self.query(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        )
        return IndexStatus("ready", embedder=self.model.name, size=size, refreshed=self._refreshed)

    def all(self) -> list[int]:
        """See ``state.State.all``."""
        return self._ids("SELECT id FROM chunks WHERE file_id <> ALL (:hidden)", hidden=self.hidden)

    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """See ``state.State.by_words``."""
        chosen, share = rarest(words)
        if not chosen:
            return []
        chunks = self.totals[0]
        after = [0]
        if share < 1:
            # Ids have gaps, so the latest chunks are counted, not computed.
            query = "SELECT id FROM chunks ORDER BY id DESC OFFSET :latest LIMIT 1"
            after = self._ids(query, latest=int(chunks * share)) or [0]
        return self._ids(
            "SELECT id FROM ("
            " SELECT found.id, word.weight FROM unnest(:asked::integer[], :weights::real[])"
            " AS word (term, weight) CROSS JOIN LATERAL ("
            # A sum, lest the planner, who does not know the values, takes the index of ids.
            "  SELECT chunks.id FROM chunks WHERE terms @> ARRAY[word.term] AND id + 0 > :after"
            "  AND file_id <> ALL (:hidden) AND :category::text IN ('', category)"
            " ) AS found) AS matches GROUP BY id ORDER BY sum(weight) DESC, id DESC LIMIT :count",
            asked=[_signed(word.number) for word in chosen],
            weights=[math.log(1 + (chunks - word.held + 0.5) / (word.held + 0.5)) for word in chosen],
            after=after[0],
            count=count,
            **self._values(scope),
        )

    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """See ``state.State.by_vector``."""
        (signs,) = signs_of(vector[None, :])
        values = self._values(scope)
        inside = ""
        if values["hidden"] or values["category"]:
            inside = (
                " AND EXISTS (SELECT FROM chunks WHERE id = chunk AND file_id <> ALL (:hidden)"
                " AND :category::text IN ('', category))"
            )
        return self._ids(
            "SELECT chunk FROM ("
            f" SELECT chunk, signs <~> :signs::bit({PLANES}) AS distance FROM vectors"
            f" WHERE model + 0 = :model{inside} ORDER BY signs <~> :signs::bit({PLANES}) LIMIT :count"
            ") AS nearest ORDER BY distance, chunk",
            signs=bits(signs.tobytes()),
            model=self.model.id,
            count=count,
            **values,
        )

    def _values(self, scope: Scope) -> dict[str, Any]:
        """In which files not to look, and in which category alone."""
        hidden = self.hidden
        if scope.exclude:
            query = "SELECT id FROM files WHERE path = ANY (:paths)"
            hidden = [*hidden, *self._ids(query, paths=sorted(scope.exclude))]
        return {"hidden": hidden, "category": scope.category or ""}

    def _selected(self) -> str:
        found = columns(terms=PACKED, vector="coalesce(vector, '')")
        model = self.model.id if self.dimensions else 0
        joined = f"LEFT JOIN vectors ON chunk = chunks.id AND model = {model}"
        return f"SELECT {found} FROM wanted JOIN chunks USING (id) {joined}"

    def _rows(self, sql: str, **values: Any) -> Sequence[tuple[Any, ...]]:
        return [(*row[:9], unsigned(row[9]), *row[10:]) for row in super()._rows(sql, **values)]

    def _held(self, terms: Sequence[int]) -> dict[int, int]:
        query = "SELECT term::bigint & 4294967295, chunks FROM terms WHERE term = ANY (:asked)"
        return dict(self.query(query, asked=[_signed(term) for term in terms]))


def _signed(term: int) -> int:
    """A term number as PostgreSQL stores it."""
    return term - (1 << 32) if term >= 1 << 31 else term


def unsigned(sent: bytes) -> bytes:
    """Terms as packed in ``Facts``, from an array as PostgreSQL sends it: a header of 20 bytes, then the
    length of each number and the number, both with the highest byte first.
    """
    return numpy.frombuffer(sent[20:], dtype=">u4")[1::2].astype(numpy.uint32).tobytes()


def bits(signs: bytes) -> str:
    """Packed signs as PostgreSQL reads a ``bit``."""
    return f"x{signs.hex()}"


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
                    [bits(signs) if signs else None for signs in vectors.packed_signs(packed)],
                ),
            )

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
        model, why = self._model()
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
