"""Brings a shared index up to date with the files of one clone (spec 7.3).

A file whose version some clone has indexed is neither split nor embedded again. Everything slow happens
outside of transactions; each batch is then written in one short transaction, one writer of a workspace at a
time. So what two clones do at once is done by both at worst, and stored once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from engine.errors import IndexFailed
from engine.redaction.detect import masked
from engine.search import changes, chunks, schema, vectors, writer
from engine.search.changes import Change, ChunkRow, Known, file_digest
from engine.search.embeddings import EMBEDDING_FAULTS, Embedder, as_slow
from engine.search.facts import Facts, facts_of
from engine.search.postgres.engine import bits, signed_all
from engine.search.postgres.place import Place, find, register
from engine.search.postgres.schema import READ_S, WHERE
from engine.search.sources import Source, all_sources, is_encodable, named_sources
from engine.search.terms import Terms
from engine.search.writer import Outcome, Progress, batches, packed_passages, pending_of
from engine.store.files import Files
from engine.store.paths import PRIVATE, Workspace

if TYPE_CHECKING:
    from engine.search.postgres.schema import Server
    from engine.search.postgres.server import Connections

FORM = f"{schema.VERSION}.{chunks.VERSION}"
"""Of what is stored for the same bytes. Programs of two versions share nothing until one is updated."""

KEPT_DAYS = 90
"""A clone that has not been seen for so long holds nothing any more."""
_PRIVATE = tuple(f"{folder}/" for folder in PRIVATE)
"""Files that are encrypted in git stay on this machine."""
_LONGEST_PATH = 2_000
"""Bytes. PostgreSQL's indexes take no longer keys."""
_ATTEMPTS = 5
_SLOW_TEXTS = 64
"""Texts that a slow model is given at once."""
_LEASE_S = 60
"""For so long, other clones leave missing vectors to one that is computing them."""

_CHUNK_COLUMNS = (
    "content, category, position, start_line, end_line, length, size, day, name, kind, is_person, terms,"
    " counts, speaker, date, heading, about, text"
)
_CHUNK_TYPES = (
    "content bigint, category text, position int, start_line int, end_line int, length int, size int,"
    " day int, name bigint, kind smallint, is_person smallint, terms int[], counts bytea, speaker text,"
    " date text, heading text, about text, text text"
)
_VECTOR_TYPES = "chunk bigint, sum bigint, vector bytea, signs text"


class _Work(NamedTuple):
    """A file to write whose version nobody has indexed."""

    change: Change
    replaces: int  # the content to change in place, which only this clone holds; 0 to add one
    facts: Mapping[ChunkRow, Facts]
    vectors: Mapping[ChunkRow, bytes]  # packed; those known


class Writer:
    """One refresh of one clone.

    Args:
        server: Connections to a server with the newest tables.
        key: Of the memory.
        machine: The clone's random name.
        embedder: ``None`` without a model.
        wait_s: Seconds to wait for another writer, each time.
        stopping: Called between steps; returns whether to stop early.
    """

    def __init__(
        self,
        server: Connections,
        key: str,
        machine: str,
        workspace: Workspace,
        files: Files,
        embedder: Embedder | None,
        without_vectors: str,
        *,
        progress: Progress | None,
        wait_s: float,
        stopping: Callable[[], bool],
    ) -> None:
        self._server = server
        self._names = key, machine
        self._workspace = workspace
        self._files = files
        self._embedder = embedder
        self._progress = progress or (lambda done, total: None)
        self._wait_s = wait_s
        self._stopping = stopping
        self._terms = Terms()
        self._place = Place(0)
        self._model = 0
        self._again: list[str] = []
        self.outcome = Outcome(vectors=without_vectors)

    def run(self, paths: Sequence[str] | None, *, rebuild: bool = False) -> Outcome:
        """Bring the holdings of this clone up to date: all of them, or those at the given paths.

        Args:
            rebuild: Delete everything first, also what other clones hold; they add theirs again.

        Raises:
            IndexFailed: The server refuses, or was lost; what was written until then is kept.
        """
        self._enter()
        if rebuild:
            with self._writing() as (server, _):
                for query in (
                    "DELETE FROM holdings WHERE workspace = %s",
                    "DELETE FROM contents WHERE workspace = %s",
                    # What counts them may have been wrong.
                    "DELETE FROM terms WHERE workspace = %s",
                    "UPDATE totals SET chunks = 0, length = 0, files = 0 WHERE workspace = %s",
                    "UPDATE models SET rows = 0 WHERE workspace = %s",
                    "UPDATE holders SET refreshed = NULL WHERE workspace = %s",
                ):
                    server.execute(query, (self._place.workspace,))
        if rebuild or not self._place.has_refreshed:
            paths = None
        wanted = paths
        for _ in range(_ATTEMPTS):
            self._again = []
            known = self._known(wanted)
            sources = self._sources(wanted)
            pending = pending_of(sources, known, self.outcome)
            self._let_go(sorted(known.keys() - {source.path for source in sources}))
            done = 0
            self._progress(0, len(pending))
            for batch in self._read(pending, known):
                self._write(batch)
                done += len(batch)
                self._progress(done, len(pending))
            if not self._again or self.outcome.stopped:
                break
            wanted = self._again  # another program has changed what they were compared with
        self._embed_missing()
        if paths is None and (rebuild or self._place.is_due) and not self.outcome.stopped:
            self._finish()
        return self.outcome

    def _enter(self) -> None:
        """Find the rows of the memory, the clone and the model; add those that are missing."""
        model: tuple[str, int] | None = None
        if self._embedder is not None:
            try:
                model = self._embedder.id, self._embedder.dimensions
            except EMBEDDING_FAULTS as error:
                self._lose_model(f"the embedding model failed ({error})")
        if self._find(model):
            return
        with self._server.writing(0, self._wait_s) as server:
            register(server, *self._names)
        self._find(None)
        with self._writing() as (server, _):
            values = (self._place.workspace, *(model or ()))
            if model:
                server.execute(
                    "INSERT INTO models (workspace, name, dimensions) VALUES (%s, %s, %s)"
                    " ON CONFLICT DO NOTHING",
                    values,
                )
                self._model, _ = model_of(server, self._place.workspace, *model)
                server.execute(
                    "UPDATE holders SET model = %s WHERE id = %s", (self._model, self._place.holder)
                )
            server.execute(
                "DELETE FROM models WHERE workspace = %s AND id NOT IN"
                " (SELECT model FROM holders WHERE model IS NOT NULL)",
                values[:1],
            )

    def _find(self, model: tuple[str, int] | None) -> bool:
        """Find these rows; returns whether all are there."""
        with self._reading() as server:
            self._place = find(server, *self._names) or Place(0)
            if model is None or not self._place.holder:
                return bool(self._place.holder)
            self._model, _ = model_of(server, self._place.workspace, *model)
            row = server.execute("SELECT model FROM holders WHERE id = %s", (self._place.holder,)).fetchone()
            return bool(self._model) and row == (self._model,)

    def _reading(self) -> AbstractContextManager[Server]:
        return self._server.reading(self._place.workspace, max(READ_S, self._wait_s))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[tuple[Server, int]]:
        """A transaction that changes the workspace, and the stamp of its changes."""
        with self._server.writing(self._place.workspace, self._wait_s) as server:
            row = server.execute(
                "UPDATE totals SET stamp = stamp + 1 WHERE workspace = %s RETURNING stamp",
                (self._place.workspace,),
            ).fetchone()
            if row is None:
                raise IndexFailed("this role may not write to the shared index of this memory", where=WHERE)
            yield server, int(row[0])

    def _lose_model(self, why: str) -> None:
        self.outcome.vectors = why
        self._embedder = None

    # What there is to do.

    def _known(self, paths: Sequence[str] | None) -> dict[str, Known]:
        below, values = "true", []
        if paths is not None:
            plain = [named_sources(self._workspace, path)[0] for path in paths]
            values = [path for path in plain if path and is_encodable(path) and "\0" not in path]
            below = (
                "EXISTS (SELECT FROM unnest(%s::text[]) AS asked"
                " WHERE path = asked OR starts_with(path, asked || '/'))"
            )
        with self._reading() as server:
            rows = server.execute(
                "SELECT path, coalesce(content, 0), CASE WHEN form = %s OR content IS NULL"
                " THEN sha256 ELSE '' END, size, mtime_ns, ctime_ns, read_ns, skipped FROM holdings"
                f" LEFT JOIN (SELECT id AS content, form FROM contents) AS made USING (content)"
                f" WHERE holder = %s AND NOT gone AND {below}".encode(),
                (FORM, self._place.holder, *([values] if paths is not None else [])),
            ).fetchall()
        return {path: Known(*rest) for path, *rest in rows}

    def _sources(self, paths: Sequence[str] | None) -> list[Source]:
        if paths is None:
            found = {source.path: source for source in all_sources(self._workspace)}
        else:
            named = [named_sources(self._workspace, path)[1] for path in paths]
            found = {source.path: source for sources in named for source in sources}
        ordered = [found[path] for path in sorted(found)]
        return [
            each
            for each in ordered
            if len(each.path.encode("utf-8", "replace")) <= _LONGEST_PATH
            and not each.path.startswith(_PRIVATE)
        ]

    def _read(
        self, pending: Sequence[Source], known: Mapping[str, Known]
    ) -> Iterator[list[tuple[Change, bytes | None]]]:
        """Read the files in batches that fit in memory and in one transaction."""
        batch: list[tuple[Change, bytes | None]] = []
        size = 0
        for source in pending:
            if self._must_stop():
                break
            batch.append(changes.opened(self._files, source, known.get(source.path)))
            size += source.size
            if len(batch) >= writer.BATCH_FILES or size >= writer.BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _must_stop(self) -> bool:
        self.outcome.stopped = self.outcome.stopped or self._stopping()
        return self.outcome.stopped

    # Writing.

    def _let_go(self, gone: Sequence[str]) -> None:
        """Hold some files no longer. While others still have one, this clone remembers that it is gone."""
        for paths in batches(gone, writer.BATCH_TEXTS):
            with self._writing() as (server, _):
                rows = server.execute(
                    "UPDATE holdings SET content = NULL, gone = true FROM holdings AS old"
                    " WHERE holdings.holder = %s AND holdings.path = ANY (%s)"
                    " AND old.holder = holdings.holder AND old.path = holdings.path RETURNING old.content",
                    (self._place.holder, list(paths)),
                ).fetchall()
                self._drop(server, [content for (content,) in rows if content])
            self.outcome.removed += len(paths)

    def _write(self, batch: Sequence[tuple[Change, bytes | None]]) -> None:
        """Write what has been read of some files."""
        readable = [change for change, _ in batch if not change.skipped]
        with self._reading() as server:
            existing = self._contents_of(server, readable)
            split = [
                (change, data)
                for change, data in batch
                if data is not None and change.source.path not in existing
            ]
            before = [change.known.id for change, _ in split if change.known]
            alone = self._only_here(server, before)
            stored = self._stored(server, before)
        works = self._work(split, alone, stored)
        with self._writing() as (server, stamp):
            held = self._contents_of(server, readable)
            held |= self._put(server, [each for each in works if each.change.source.path not in held], stamp)
            done = [change for change, _ in batch if change.skipped or change.source.path in held]
            self._hold(server, [(change, held.get(change.source.path)) for change in done])
            self._drop(server, [change.known.id for change in done if change.known])
        self._again += sorted(
            {change.source.path for change, _ in batch} - {each.source.path for each in done}
        )
        read = {change.source.path for change, data in batch if data is not None}
        for change in done:
            if change.known is None:
                self.outcome.added += 1
            elif change.is_none and change.source.path not in read:
                self.outcome.unchanged += 1
            else:
                self.outcome.changed += 1

    def _contents_of(self, server: Server, wanted: Sequence[Change]) -> dict[str, int]:
        """The contents that exist for the bytes of some files, by path."""
        rows = server.execute(
            "SELECT path, id FROM contents JOIN unnest(%s::text[], %s::text[]) AS asked (path, sha256)"
            " USING (path, sha256) WHERE workspace = %s AND form = %s",
            (
                [change.source.path for change in wanted],
                [change.sha256 for change in wanted],
                self._place.workspace,
                FORM,
            ),
        ).fetchall()
        return dict(rows)

    def _only_here(self, server: Server, contents: Sequence[int]) -> set[int]:
        """Those of some contents that no other clone holds, and that can be changed in place."""
        rows = server.execute(
            "SELECT id FROM contents WHERE id = ANY (%s::bigint[]) AND form = %s AND NOT EXISTS"
            " (SELECT FROM holdings WHERE content = id AND holder <> %s)",
            (list(contents), FORM, self._place.holder),
        ).fetchall()
        return {content for (content,) in rows}

    def _stored(self, server: Server, contents: Sequence[int]) -> dict[int, list[tuple[Any, ...]]]:
        """The chunks of contents in order, as ``changes.Stored`` and then their vectors."""
        found: dict[int, list[tuple[Any, ...]]] = {content: [] for content in contents}
        for content, *row in server.execute(
            "SELECT content, id, position, start_line, end_line, speaker, date, heading, about, text, vector"
            " FROM chunks LEFT JOIN vectors ON chunk = id AND model = %s WHERE content = ANY (%s::bigint[])"
            " ORDER BY content, position",
            (self._model, list(contents)),
            binary=True,
        ):
            found[content].append(tuple(row))
        return found

    def _work(
        self,
        wanted: Sequence[tuple[Change, bytes]],
        alone: set[int],
        stored: Mapping[int, Sequence[tuple[Any, ...]]],
    ) -> list[_Work]:
        """Split files, and compute the facts and vectors of their new chunks."""
        found: list[tuple[Change, int, dict[ChunkRow, bytes]]] = []
        for change, data in wanted:
            before = change.known.id if change.known else 0
            old = stored.get(before, ())
            contents = chunks.split(_without_keys(data), change.source.path, change.source.category)
            replaces = before if before in alone else 0
            stays = [row[:9] for row in old] if replaces else []
            change = changes.compared(replace(change, contents=contents), stays)
            same = {row[4:9]: row[9] for row in old if row[9] is not None}
            found.append((change, replaces, {row: same[row[3:]] for row in change.new if row[3:] in same}))
        new = [row for change, _, _ in found for row in change.new]
        facts = iter(facts_of(self._terms, [row[3:] for row in new]))
        missing = [row for change, _, known in found for row in change.new if row not in known]
        packed = dict(zip(missing, self._embed_now(missing), strict=False))
        return [
            _Work(
                change,
                replaces,
                {row: next(facts)[0] for row in change.new},
                known | {row: packed[row] for row in change.new if row in packed},
            )
            for change, replaces, known in found
        ]

    def _embed_now(self, rows: Sequence[ChunkRow]) -> list[bytes]:
        """The packed vectors of new chunks; empty without a model. A slow one follows after all files."""
        if as_slow(self._embedder) is not None:
            return []
        return self._embed([vectors.embedded_text(row[3], row[5], row[7]) for row in rows])

    def _put(self, server: Server, works: Sequence[_Work], stamp: int) -> dict[str, int]:
        """Write contents, and return their ids by path; none for a file that another program has changed."""
        put: list[tuple[_Work, int]] = []
        for work in works:
            change, source = work.change, work.change.source
            date = change.contents.date if change.contents else ""
            digest = file_digest((source.path, source.category), change.rows)
            values = (change.sha256, date, digest, stamp)
            if work.replaces:
                row = server.execute(
                    "UPDATE contents SET sha256 = %s, date = %s, digest = %s, stamp = %s"
                    " WHERE id = %s AND sha256 = %s AND NOT EXISTS"
                    " (SELECT FROM holdings WHERE content = id AND holder <> %s) RETURNING id",
                    (*values, work.replaces, change.known and change.known.sha256, self._place.holder),
                ).fetchone()
            else:
                row = server.execute(
                    "INSERT INTO contents (sha256, date, digest, stamp, workspace, path, form, category)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
                    (*values, self._place.workspace, source.path, FORM, source.category),
                ).fetchone()
            if row is not None:
                put.append((work, int(row[0])))
        gone = [chunk for work, _ in put for chunk in work.change.gone]
        if gone:
            server.execute("DELETE FROM chunks WHERE id = ANY (%s)", (gone,))
        moved = [(chunk, *place) for work, _ in put for chunk, place in work.change.moved]
        if moved:
            server.execute(
                "UPDATE chunks SET position = place.position, start_line = first, end_line = last FROM"
                " unnest(%s::bigint[], %s::int[], %s::int[], %s::int[]) AS place (id, position, first, last)"
                " WHERE chunks.id = place.id",
                list(map(list, zip(*moved, strict=True))),
            )
        self._add(server, put)
        self._put_passages(server, put)
        return {work.change.source.path: content for work, content in put}

    def _add(self, server: Server, put: Sequence[tuple[_Work, int]]) -> None:
        """Write the new chunks of contents, and the vectors of those that have some."""
        rows, packed = [], []
        for work, content in put:
            for row in work.change.new:
                *numbers, terms, counts = work.facts[row]
                values = (content, work.change.source.category, *row[:3], *map(int, numbers))
                rows.append((*values, signed_all(terms), f"\\x{counts.hex()}", *row[3:]))
                packed.append(work.vectors.get(row))
        if not rows:
            return
        # The ids are in the order of the rows.
        made = server.execute(
            f"INSERT INTO chunks (workspace, {_CHUNK_COLUMNS}) SELECT %s, {_CHUNK_COLUMNS}"
            f" FROM json_to_recordset(%s::json) AS row ({_CHUNK_TYPES}) RETURNING id".encode(),
            (self._place.workspace, _records(_CHUNK_TYPES, rows)),
        ).fetchall()
        self._put_vectors(
            server,
            [(chunk, each) for (chunk,), each in zip(made, packed, strict=True) if each is not None],
        )

    def _put_vectors(self, server: Server, rows: Sequence[tuple[int, bytes]]) -> None:
        """Write the packed vectors of chunks that have none of the model."""
        if not rows:
            return
        there = [vector for _, vector in rows if vector]
        values = numpy.frombuffer(b"".join(there), dtype=numpy.int8).astype(numpy.float32)
        signs = iter(vectors.signs_of(values.reshape(len(there), -1))) if there else iter(())
        records = [
            (
                chunk,
                vectors.sum_of(vector),
                f"\\x{vector.hex()}",
                bits(next(signs).tobytes()) if vector else None,
            )
            for chunk, vector in rows
        ]
        server.execute(
            "INSERT INTO vectors (workspace, model, chunk, sum, vector, signs)"
            " SELECT %s, %s, chunk, sum, vector, signs::bit varying"
            f" FROM json_to_recordset(%s::json) AS row ({_VECTOR_TYPES})"
            " WHERE EXISTS (SELECT FROM chunks WHERE id = chunk) ON CONFLICT DO NOTHING".encode(),
            (self._place.workspace, self._model, _records(_VECTOR_TYPES, records)),
        )

    def _hold(self, server: Server, held: Sequence[tuple[Change, int | None]]) -> None:
        rows = [
            (
                self._place.workspace,
                self._place.holder,
                change.source.path,
                content or None,
                change.source.category,
                change.skipped,
                change.sha256,
                change.source.size,
                change.source.mtime_ns,
                change.source.ctime_ns,
                change.read_ns,
            )
            for change, content in held
        ]
        columns = "content, category, skipped, sha256, size, mtime_ns, ctime_ns, read_ns"
        assigned = ", ".join(f"{column} = excluded.{column}" for column in columns.split(", "))
        server.cursor().executemany(
            f"INSERT INTO holdings (workspace, holder, path, {columns})"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
            f" ON CONFLICT (holder, path) DO UPDATE SET gone = false, {assigned}".encode(),
            rows,
        )

    def _put_passages(self, server: Server, put: Sequence[tuple[_Work, int]]) -> None:
        rows = []
        for work, content in put:
            contents = work.change.contents
            if contents is not None and work.change.source.category == "conversation":
                # What another person and their agent said is found by a search, but told to no one unasked.
                pieces = () if contents.author else contents.pieces
                rows.append((self._place.workspace, content, *packed_passages(pieces)))
        server.cursor().executemany(
            "INSERT INTO sessions VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (content) DO UPDATE"
            " SET words = excluded.words, places = excluded.places, lengths = excluded.lengths,"
            " spoken = excluded.spoken",
            rows,
        )

    def _drop(self, server: Server, contents: Sequence[int]) -> None:
        """Delete those of some contents that nobody holds any more."""
        if contents:
            server.execute(
                "DELETE FROM contents WHERE id = ANY (%s::bigint[])"
                " AND NOT EXISTS (SELECT FROM holdings WHERE content = contents.id)",
                (list(contents),),
            )

    def _finish(self) -> None:
        """Note that this clone is complete, and forget clones that have not been seen for long."""
        workspace, holder = self._place.workspace, self._place.holder
        with self._writing() as (server, _):
            server.execute("UPDATE holders SET seen = now(), refreshed = now() WHERE id = %s", (holder,))
            server.execute("UPDATE totals SET complete = true WHERE workspace = %s", (workspace,))
            dropped = server.execute(
                "DELETE FROM holders WHERE workspace = %s AND id <> %s"
                " AND seen < now() - make_interval(days => %s)",
                (workspace, holder, KEPT_DAYS),
            )
            if dropped.rowcount:
                server.execute(
                    "DELETE FROM contents WHERE workspace = %s"
                    " AND NOT EXISTS (SELECT FROM holdings WHERE content = contents.id)",
                    (workspace,),
                )
            server.execute(
                "DELETE FROM holdings WHERE holder = %s AND gone AND NOT EXISTS (SELECT FROM contents"
                " WHERE contents.workspace = holdings.workspace AND contents.path = holdings.path)",
                (holder,),
            )

    # Vectors.

    def _embed_missing(self) -> None:
        """Compute the vectors that are missing, unless another clone is doing so."""
        size = _SLOW_TEXTS if as_slow(self._embedder) else writer.BATCH_TEXTS
        after, total = 0, 0
        while self._embedder is not None and not self._must_stop():
            with self._reading() as server:
                left = missing(server, self._place.workspace, self._model)
            total = total or left
            if total > left or after:
                self._progress(total - left, total)
            if not left:
                break
            with self._writing() as (server, _):
                leased = server.execute(
                    "UPDATE models SET lease = now() + make_interval(secs => %s), leased = %s WHERE id = %s"
                    " AND (lease < now() OR leased = %s) RETURNING id",
                    (_LEASE_S, self._place.holder, self._model, self._place.holder),
                ).fetchone()
            with self._reading() as server:
                rows = server.execute(
                    "SELECT id, speaker, heading, text FROM chunks WHERE workspace = %s AND id > %s AND"
                    " NOT EXISTS (SELECT FROM vectors WHERE chunk = id AND model = %s) ORDER BY id LIMIT %s",
                    (self._place.workspace, after, self._model, size),
                ).fetchall()
            packed = self._embed([vectors.embedded_text(*texts) for _, *texts in rows]) if leased else []
            if not packed:
                break
            with self._writing() as (server, _):
                self._put_vectors(server, [(row[0], each) for row, each in zip(rows, packed, strict=True)])
            after = rows[-1][0]

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        """Packed vectors of texts; empty without a model. A model that fails is not called again."""
        packed: list[bytes] = []
        for batch in batches(texts, writer.BATCH_TEXTS):
            if self._embedder is None:
                return []
            try:
                found = self._embedder.embed(batch)
            except EMBEDDING_FAULTS as error:
                self._lose_model(f"the embedding model failed ({error})")
                return []
            if found.shape != (len(batch), self._embedder.dimensions):
                self._lose_model("the embedding model's vectors do not have the declared size")
                return []
            packed.extend(vectors.packed(found))
        self.outcome.embedded += sum(1 for vector in packed if vector)
        return packed


def _without_keys(data: bytes) -> bytes:
    """The bytes of a file with likely secrets masked, as whatever leaves the machine."""
    return masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def model_of(server: Server, workspace: int, name: str, dimensions: int) -> tuple[int, int]:
    """The row id of a model and the number of its vectors; 0 for a model without any row."""
    row = server.execute(
        "SELECT id, rows FROM models WHERE workspace = %s AND name = %s AND dimensions = %s",
        (workspace, name, dimensions),
    ).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def missing(server: Server, workspace: int, model: int) -> int:
    """The number of chunks without a vector of a model."""
    row = server.execute(
        "SELECT chunks - rows FROM totals JOIN models USING (workspace) WHERE workspace = %s AND id = %s",
        (workspace, model),
    ).fetchone()
    return int(row[0]) if row else 0


def _records(types: str, rows: Iterable[Sequence[Any]]) -> str:
    """Rows as JSON for ``json_to_recordset``, which takes one long text faster than many values."""
    names = [each.split()[0] for each in types.split(", ")]
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False)
