"""Writes memory.db (spec 7.3)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import apsw

from engine.search import chunks, schema, vectors
from engine.search.facts import Facts, Words, facts_of, numbers_in
from engine.search.writer import Change, ChunkRow, Known, Read, Writer, compared, file_digest, packed_passages

_FILE_COLUMNS = (
    "path, category, date, skipped, sha256, size, mtime_ns, ctime_ns, read_ns, chunk_count, digest, stamp"
)
_ASSIGNED = ", ".join(f"{column} = excluded.{column}" for column in _FILE_COLUMNS.split(", "))


_New = tuple[ChunkRow, tuple[Facts, Words]]
"""A chunk to write."""


class SqliteWriter(Writer):
    """One refresh over an open connection. The caller holds the index lock.

    Args:
        connection: A write connection to a database with the newest schema.
    """

    def __init__(self, connection: apsw.Connection, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._connection = connection
        self._held: Counter[int] = Counter()

    def run(self, paths: Sequence[str] | None = None) -> None:
        """Bring the whole index, or the given paths, up to date.

        Raises:
            apsw.Error: The database is damaged or cannot be written.
        """
        connection = self._connection
        if schema.get_meta(connection, "chunker") != chunks.VERSION:
            with connection:
                connection.execute("UPDATE files SET sha256 = ''")
                schema.set_meta(connection, "chunker", chunks.VERSION)
        completes = paths is None and schema.get_meta(connection, "complete") != "1"
        did = self._compare(paths)
        if paths is None and (did or completes) and not self._stopped:
            if completes:
                connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")
            with connection:
                schema.set_meta(connection, "complete", "1")
                schema.set_meta(connection, "refreshed_ns", str(time.time_ns()))

    def _known(self, paths: Sequence[str] | None) -> dict[str, Known]:
        query = "SELECT path, id, sha256, size, mtime_ns, ctime_ns, read_ns, skipped FROM files"
        # "0" follows "/", so this range covers everything below a path and uses the index of paths.
        below = f"{query} WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
        asked = [(query, ())] if paths is None else [(below, (path,)) for path in paths]
        return {
            path: Known(*rest)
            for query, values in asked
            for path, *rest in self._connection.execute(query, values)
        }

    def _remove(self, gone: Mapping[str, Known]) -> None:
        with self._connection:
            self._next_stamp()
            for file in gone.values():
                rows = self._connection.execute("SELECT id FROM chunks WHERE file_id = ?", (file.id,))
                self._remove_chunks([chunk for (chunk,) in rows])
            self._count_terms()
            self._connection.executemany(
                "DELETE FROM files WHERE id = ?", [(file.id,) for file in gone.values()]
            )

    def _next_stamp(self) -> int:
        """A new stamp for the changes in the current transaction."""
        stamp = int(schema.get_meta(self._connection, "stamp") or 0) + 1
        schema.set_meta(self._connection, "stamp", str(stamp))
        return stamp

    def _compared(self, change: Change, data: bytes | None) -> Change:
        """Fill in the rows of a change."""
        self._step()
        if data is not None:
            contents = chunks.split(data, change.source.path, change.source.category)
            change = replace(change, contents=contents)
        elif change.is_none:
            return change
        stored = self._connection.execute(
            "SELECT id, position, start_line, end_line, speaker, date, heading, about, text FROM chunks"
            " WHERE file_id = ? ORDER BY position",
            (change.known.id if change.known else None,),
        )
        return compared(change, stored)

    def _write(self, batch: Sequence[Read]) -> None:
        compared = [self._compared(*each) for each in batch]
        rows = [row for change in compared for row in change.new]
        following = zip(rows, facts_of(self._terms, [row[3:] for row in rows]), strict=True)
        with self._connection:
            stamp = self._next_stamp()
            for change in compared:
                self._step()
                if change.known is not None and change.is_none:
                    source = change.source
                    times = (source.size, source.mtime_ns, source.ctime_ns, change.read_ns)
                    self._connection.execute(
                        "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, read_ns = ?, sha256 = ?"
                        " WHERE path = ?",
                        (*times, change.sha256, source.path),
                    )
                else:
                    self._write_file(change, stamp, list(islice(following, len(change.new))))
                self._count(change, is_same=change.is_none)
            self._count_terms()

    def _write_file(self, change: Change, stamp: int, new: Sequence[_New]) -> None:
        """Write a file's row and bring its chunks up to date."""
        connection, source = self._connection, change.source
        date = change.contents.date if change.contents else ""
        about = (source.path, source.category, date, change.skipped)
        times = (source.size, source.mtime_ns, source.ctime_ns, change.read_ns)
        digest = file_digest(about, change.rows)
        values = (*about, change.sha256, *times, len(change.rows), digest, stamp)
        file = connection.execute(
            f"INSERT INTO files ({_FILE_COLUMNS}, extent) VALUES ({', '.join('?' * len(values))}, 0)"
            f" ON CONFLICT (path) DO UPDATE SET {_ASSIGNED} RETURNING id",
            values,
        ).get
        extent = sum(facts.length for _, (facts, _) in new) - self._remove_chunks(change.gone)
        connection.executemany(
            "UPDATE chunks SET position = ?, start_line = ?, end_line = ? WHERE id = ?",
            [(*place, chunk) for chunk, place in change.moved],
        )
        self._add_chunks(file, new)
        connection.execute("UPDATE files SET extent = extent + ? WHERE id = ?", (extent, file))
        if source.category == "conversation":
            connection.execute(
                "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)",
                (file, *packed_passages(change.contents)),
            )

    def _add_chunks(self, file: int, new: Sequence[_New]) -> None:
        """Write chunks with the words indexed of them."""
        if not new:
            return
        first = 1 + int(self._connection.execute("SELECT coalesce(max(id), 0) FROM chunks").get)
        chunks, words = [], []
        for chunk, (row, (facts, indexed)) in enumerate(new, first):
            chunks.append((chunk, file, *row[:3], *facts, *row[3:]))
            words.append((chunk, *indexed))
            self._held.update(numbers_in(facts.terms))
        marks = ", ".join("?" * len(chunks[0]))
        self._connection.executemany(f"INSERT INTO chunks VALUES ({marks})", chunks)
        self._connection.executemany(
            "INSERT INTO chunk_words (rowid, prose, heading, about, aside) VALUES (?, ?, ?, ?, ?)", words
        )

    def _remove_chunks(self, chunks: Sequence[int]) -> int:
        """Delete chunks with all that is indexed of them, and return the total of their lengths."""
        extent = 0
        for chunk in chunks:
            for terms, length in self._connection.execute(
                "DELETE FROM chunks WHERE id = ? RETURNING terms, length", (chunk,)
            ):
                self._held.subtract(numbers_in(terms))
                extent += length
        vectors.remove(self._connection, chunks)
        return extent

    def _count_terms(self) -> None:
        """Write how many more or fewer chunks contain each term, before the transaction ends."""
        changed = sorted(each for each in self._held.items() if each[1])
        self._held.clear()
        self._connection.executemany(
            "INSERT INTO terms VALUES (?, ?)"
            " ON CONFLICT (term) DO UPDATE SET chunks = chunks + excluded.chunks",
            changed,
        )
        self._connection.executemany(
            "DELETE FROM terms WHERE term = ? AND chunks <= 0",
            [(term,) for term, more in changed if more < 0],
        )
