"""Brings a shared index up to date with the files of one clone (spec 7.3).

A file whose version some clone has indexed is neither split nor embedded again. Each batch is written in one
transaction, by one writer at a time. Vectors follow, outside of transactions.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.redaction.detect import masked
from engine.search import chunks, schema
from engine.search.facts import facts_of
from engine.search.postgres.schema import READ_S
from engine.search.sources import Source
from engine.search.writer import Change, Known, Read, Writer, compared, file_digest, opened, packed_passages
from engine.store.paths import PRIVATE

if TYPE_CHECKING:
    from engine.search.postgres.schema import Server
    from engine.search.postgres.server import Connections

FORM = f"{schema.VERSION}.{chunks.VERSION}"
"""Of what is stored for the same bytes. Programs of two versions share nothing until one is updated."""

KEPT_DAYS = 90
"""A clone that has not been seen for so long holds nothing any more."""
_UNUSED_DAYS = 7
"""So long are the vectors of a former model kept."""
_PRIVATE = tuple(f"{folder}/" for folder in PRIVATE)
"""Files that are encrypted in git stay on this machine."""
_LONGEST_PATH = 2_000
"""Bytes. PostgreSQL's indexes take no longer keys."""
_CHUNK_COLUMNS = (
    "file_id, category, position, start_line, end_line, length, size, day, name, kind, is_person, terms,"
    " counts, speaker, date, heading, about, text"
)
_HOLDING_COLUMNS = "file, category, skipped, sha256, size, mtime_ns, ctime_ns, read_ns"
_HOLD = (
    f"INSERT INTO holdings (holder, path, {_HOLDING_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT (holder, path) DO UPDATE SET gone = false, "
    + ", ".join(f"{column} = excluded.{column}" for column in _HOLDING_COLUMNS.split(", "))
)
_COPY_VECTORS = (
    "INSERT INTO vectors SELECT DISTINCT ON (new.id, model) model, new.id, sum, vector, signs"
    " FROM unnest(%s::bigint[], %s::bigint[]) AS pair (file, before)"
    " JOIN chunks AS new ON new.file_id = file"
    " JOIN chunks AS old ON old.file_id = before AND old.id <> new.id"
    " AND (new.speaker, new.date, new.heading, new.about, new.text)"
    " = (old.speaker, old.date, old.heading, old.about, old.text)"
    " JOIN vectors ON chunk = old.id ON CONFLICT DO NOTHING"
)
"""What a version shares with the one before it is not embedded again."""


class PostgresWriter(Writer):
    """One refresh of one clone.

    Args:
        server: Connections to a server with the newest tables.
        machine: The clone's random name.
        model: Id and dimensions of the model that it searches with; ``None`` without one.
        wait_s: Seconds to wait for another writer, each time.
    """

    def __init__(
        self,
        server: Connections,
        machine: str,
        model: tuple[str, int] | None,
        wait_s: float,
        *given: Any,
        **options: Any,
    ) -> None:
        super().__init__(*given, **options)
        self._server = server
        self._machine = machine
        self._model = model
        self._wait_s = wait_s
        self._holder = 0

    def run(self, paths: Sequence[str] | None, *, rebuild: bool = False) -> None:
        """Bring the holdings of this clone up to date: all of them, or those at the given paths.

        Args:
            rebuild: Delete everything first, also what other clones hold; they add theirs again.

        Raises:
            IndexFailed: The server refuses, or was lost; what was written until then is kept.
        """
        is_due, has_refreshed = self._enter()
        if rebuild:
            with self._writing() as server:
                for table in ("holdings", "files", "terms"):  # what counts them may have been wrong
                    server.execute(f"DELETE FROM {table}".encode())
                server.execute("UPDATE models SET rows = 0")
                server.execute("UPDATE holders SET refreshed = NULL")
        if rebuild or not has_refreshed:
            paths = None
        self._compare(paths)
        if paths is None and (rebuild or is_due) and not self._stopped:
            self._finish()

    def _enter(self) -> tuple[bool, bool]:
        """Find the rows of the clone and its model, and add those that are missing.

        Returns:
            Whether the clone has not said for an hour that it is there and complete, and whether it has ever
            compared all of its files.
        """
        with self._reading() as server:
            found = self._find(server)
        if found is None:
            with self._writing() as server:
                query = "INSERT INTO models (name, dimensions) VALUES (%s, %s) ON CONFLICT DO NOTHING"
                server.cursor().executemany(query.encode(), [self._model] if self._model else [])
                query = "INSERT INTO holders (machine) VALUES (%s) ON CONFLICT DO NOTHING"
                server.execute(query.encode(), (self._machine,))
                found = self._find(server)
        self._holder, is_due, has_refreshed = found or (0, True, False)
        return is_due, has_refreshed

    def _find(self, server: Server) -> tuple[int, bool, bool] | None:
        """The clone's row id and what ``_enter`` returns; ``None`` unless its model is known, too."""
        row = server.execute(
            "SELECT id, NOT complete OR refreshed IS NULL OR seen < now() - interval '1 hour',"
            " refreshed IS NOT NULL FROM holders, totals WHERE machine = %s AND (%s OR EXISTS"
            " (SELECT FROM models WHERE name = %s AND dimensions = %s))",
            (self._machine, self._model is None, *(self._model or ("", 0))),
        ).fetchone()
        return (row[0], row[1], row[2]) if row else None

    def _reading(self) -> AbstractContextManager[Server]:
        return self._server.reading(max(READ_S, self._wait_s))

    @contextlib.contextmanager
    def _writing(self, changed: Sequence[int] = ()) -> Iterator[Server]:
        """A transaction that changes files, after which their numbers of chunks and the totals are right.

        Args:
            changed: The row ids of files whose chunks it changes; may be filled within the transaction.
        """
        with self._server.writing(self._wait_s) as server:
            yield server
            if changed:
                server.execute(
                    "UPDATE files SET (chunks, extent) = (SELECT count(*), coalesce(sum(length), 0)"
                    " FROM chunks WHERE file_id = files.id) WHERE id = ANY (%s)",
                    (list(changed),),
                )
            server.execute(
                "UPDATE totals SET stamp = stamp + 1, (chunks, length, files) = (SELECT"
                " coalesce(sum(chunks), 0), coalesce(sum(extent), 0), count(*) FILTER (WHERE chunks > 0)"
                " FROM files)"
            )

    def _why_left_out(self, source: Source) -> str | None:
        if source.path.startswith(_PRIVATE):
            return ""
        if len(source.path.encode("utf-8", "replace")) > _LONGEST_PATH:
            return f"its path is longer than {_LONGEST_PATH:,} bytes, too long for a shared index"
        return super()._why_left_out(source)

    def _known(self, paths: Sequence[str] | None) -> dict[str, Known]:
        below = "EXISTS (SELECT FROM unnest(%s::text[]) AS asked WHERE path = asked"
        below += " OR starts_with(path, asked || '/'))"
        with self._reading() as server:
            rows = server.execute(
                "SELECT path, coalesce(file, 0), CASE WHEN form = %s OR file IS NULL THEN holdings.sha256"
                " ELSE '' END, size, mtime_ns, ctime_ns, read_ns, skipped FROM holdings"
                " LEFT JOIN (SELECT id AS file, form FROM files) AS made USING (file)"
                f" WHERE holder = %s AND NOT gone AND {'true' if paths is None else below}".encode(),
                (FORM, self._holder, *([] if paths is None else [paths])),
            ).fetchall()
        return {path: Known(*rest) for path, *rest in rows}

    def _remove(self, gone: Mapping[str, Known]) -> None:
        """Hold some files no longer. While others still have one, this clone remembers that it is gone."""
        with self._writing() as server:
            rows = server.execute(
                "UPDATE holdings SET file = NULL, gone = true FROM holdings AS old"
                " WHERE holdings.holder = %s AND holdings.path = ANY (%s)"
                " AND old.holder = holdings.holder AND old.path = holdings.path RETURNING old.file",
                (self._holder, list(gone)),
            ).fetchall()
            self._drop(server, [file for (file,) in rows if file])

    def _write(self, batch: Sequence[Read]) -> None:
        changed: list[int] = []
        put: list[tuple[int, Change]] = []
        with self._writing(changed) as server:
            made = self._made(server, [change for change, _ in batch])
            # Another program may have changed what the file was compared with.
            batch = [
                each
                if each[1] is not None or each[0].skipped or each[0].source.path in made
                else opened(self._files, each[0].source, None)
                for each in batch
            ]
            made = self._made(server, [change for change, _ in batch])
            before = self._before(server, [change.source.path for change, _ in batch])
            for change, data in batch:
                path = change.source.path
                if data is not None and path not in made:
                    old, is_alone = before.get(path, (0, False))
                    put.append(self._put(server, change, data, old, is_alone))
                    made[path] = put[-1][0]
            changed += [file for file, _ in put]
            if put:
                self._add(server, put)
                pairs = [(made[path], file) for path, (file, _) in before.items() if path in made]
                server.execute(_COPY_VECTORS, list(map(list, zip(*pairs, strict=True))) or ([], []))
            server.cursor().executemany(_HOLD.encode(), [self._holding(each, made) for each, _ in batch])
            self._drop(server, [file for file, _ in before.values()])
        for change, data in batch:
            self._count(change, is_same=change.is_none and data is None)

    def _made(self, server: Server, wanted: Sequence[Change]) -> dict[str, int]:
        """The row ids of the versions that exist of some files as they are now, by path."""
        rows = server.execute(
            "SELECT path, id FROM files JOIN unnest(%s::text[], %s::text[]) AS asked (path, sha256)"
            " USING (path, sha256) WHERE form = %s",
            ([each.source.path for each in wanted], [each.sha256 for each in wanted], FORM),
        ).fetchall()
        return dict(rows)

    def _before(self, server: Server, paths: Sequence[str]) -> dict[str, tuple[int, bool]]:
        """The versions of some files that this clone holds, and whether they can be changed in place, because
        no other clone holds them.
        """
        rows = server.execute(
            "SELECT path, id, form = %s AND NOT EXISTS"
            " (SELECT FROM holdings WHERE file = id AND holder <> %s) FROM files WHERE id IN"
            " (SELECT file FROM holdings WHERE holder = %s AND path = ANY (%s))",
            (FORM, self._holder, self._holder, list(paths)),
        ).fetchall()
        return {path: (file, is_alone) for path, file, is_alone in rows}

    def _put(
        self, server: Server, change: Change, data: bytes, before: int, is_alone: bool
    ) -> tuple[int, Change]:
        """Write a version of a file that nobody has indexed, without its new chunks.

        Args:
            before: The version that this clone held before; 0 without one.
            is_alone: Whether to change that one.

        Returns:
            Its row id, and the change with its rows.
        """
        path, category = change.source.path, change.source.category
        contents = chunks.split(_without_keys(data), path, category)
        stored: list[Any] = []
        if is_alone:
            stored = server.execute(
                "SELECT id, position, start_line, end_line, speaker, date, heading, about, text FROM chunks"
                " WHERE file_id = %s ORDER BY position",
                (before,),
            ).fetchall()
        change = compared(replace(change, contents=contents), stored)
        digest = file_digest((path, category, contents.date, ""), change.rows)
        values = (change.sha256, contents.date, digest)
        if is_alone:
            server.execute(
                "UPDATE files SET sha256 = %s, date = %s, digest = %s, stamp = (SELECT stamp + 1 FROM totals)"
                " WHERE id = %s",
                (*values, before),
            )
            server.execute("DELETE FROM chunks WHERE id = ANY (%s)", (list(change.gone),))
            server.cursor().executemany(
                "UPDATE chunks SET position = %s, start_line = %s, end_line = %s WHERE id = %s",
                [(*place, chunk) for chunk, place in change.moved],
            )
            return before, change
        ((file,),) = server.execute(
            "INSERT INTO files (sha256, date, digest, stamp, path, form, category)"
            " VALUES (%s, %s, %s, (SELECT stamp + 1 FROM totals), %s, %s, %s) RETURNING id",
            (*values, path, FORM, category),
        ).fetchall()
        return file, change

    def _add(self, server: Server, put: Sequence[tuple[int, Change]]) -> None:
        """Write the new chunks of some versions, and the passages of conversations."""
        new = [(file, change.source.category, row) for file, change in put for row in change.new]
        facts = facts_of(self._terms, [row[3:] for _, _, row in new])
        with server.cursor().copy(f"COPY chunks ({_CHUNK_COLUMNS}) FROM STDIN".encode()) as copy:
            for (*given, row), ((*numbers, terms, counts), _) in zip(new, facts, strict=True):
                copy.write_row(
                    (*given, *row[:3], *map(int, numbers), array("i", terms).tolist(), counts, *row[3:])
                )
        server.cursor().executemany(
            "INSERT INTO sessions VALUES (%s, %s, %s, %s, %s) ON CONFLICT (file) DO UPDATE SET"
            " words = excluded.words, places = excluded.places, lengths = excluded.lengths,"
            " spoken = excluded.spoken",
            [
                (file, *packed_passages(change.contents))
                for file, change in put
                if change.source.category == "conversation"
            ],
        )

    def _holding(self, change: Change, made: Mapping[str, int]) -> tuple[Any, ...]:
        source = change.source
        times = (source.size, source.mtime_ns, source.ctime_ns, change.read_ns)
        file = None if change.skipped else made[source.path]
        about = (self._holder, source.path, file, source.category, change.skipped)
        return (*about, change.sha256, *times)

    def _drop(self, server: Server, files: Collection[int] | None) -> None:
        """Delete those of some files that nobody holds any more; ``None`` for all."""
        if files is None or files:
            server.execute(
                "DELETE FROM files WHERE (%s::bigint[] IS NULL OR id = ANY (%s))"
                " AND NOT EXISTS (SELECT FROM holdings WHERE file = id)",
                [None if files is None else list(files)] * 2,
            )

    def _finish(self) -> None:
        """Note that this clone is complete, and forget clones that have not been seen for long."""
        with self._writing() as server:
            server.execute(
                "UPDATE holders SET seen = now(), refreshed = now() WHERE id = %s", (self._holder,)
            )
            server.execute("UPDATE totals SET complete = true")
            name, dimensions = self._model or ("", 0)
            server.execute(
                "UPDATE models SET used = now() WHERE name = %s AND dimensions = %s", (name, dimensions)
            )
            server.execute(
                "DELETE FROM models WHERE used < now() - make_interval(days => %s)", (_UNUSED_DAYS,)
            )
            dropped = server.execute(
                "DELETE FROM holders WHERE id <> %s AND seen < now() - make_interval(days => %s)",
                (self._holder, KEPT_DAYS),
            )
            if dropped.rowcount:
                self._drop(server, None)
            server.execute(
                "DELETE FROM holdings WHERE holder = %s AND gone"
                " AND NOT EXISTS (SELECT FROM files WHERE files.path = holdings.path)",
                (self._holder,),
            )


def _without_keys(data: bytes) -> bytes:
    """The bytes of a file with likely secrets masked, as whatever leaves the machine."""
    return masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def model_of(server: Server, name: str, dimensions: int) -> tuple[int, int]:
    """The row id of a model and the number of its vectors; 0 for a model without any row."""
    row = server.execute(
        "SELECT id, rows FROM models WHERE name = %s AND dimensions = %s", (name, dimensions)
    ).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)
