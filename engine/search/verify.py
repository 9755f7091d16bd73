"""Finds damage that SQLite does not notice while answering queries."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import apsw

from engine.search import database, schema, vectors
from engine.search.changes import file_digest

_MOST = 8
"""Maximum number of problems listed per kind; one is enough for a rebuild."""


def check_words(connection: apsw.Connection) -> None:
    """Compare every word in the full-text index with the chunks.

    Raises:
        apsw.CorruptError: They differ.
    """
    connection.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('integrity-check', 1)")


def problems(connection: apsw.Connection) -> list[str]:
    """The problems of an index, one clause each.

    The connection must be able to write, and the database must have the newest schema.
    """
    found: list[str] = []
    for check in (_pages, _definitions, _words, _rows, _vectors):
        try:
            found.extend(check(connection))
        except database.FAULTS as error:
            if not database.is_damage(error):
                raise
            found.append(f"reading it failed ({error})")
        if found:
            break
    return found


def _pages(connection: apsw.Connection) -> Iterator[str]:
    for (message,) in connection.execute(f"PRAGMA integrity_check({_MOST})"):
        if message != "ok":
            yield str(message)


def _definitions(connection: apsw.Connection) -> Iterator[str]:
    fresh = apsw.Connection(":memory:")
    try:
        schema.migrate(fresh)
        query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        if connection.execute(query).fetchall() != fresh.execute(query).fetchall():
            yield "its tables are not defined as expected"
        query = "SELECT k, v FROM chunk_words_config ORDER BY k"
        if connection.execute(query).fetchall() != fresh.execute(query).fetchall():
            yield "the word table is not configured as expected"
    finally:
        fresh.close()


def _words(connection: apsw.Connection) -> Iterator[str]:
    check_words(connection)
    yield from ()


def _rows(connection: apsw.Connection) -> Iterator[str]:
    strays = connection.execute("SELECT count(*) FROM chunks WHERE file_id NOT IN (SELECT id FROM files)").get
    if strays:
        yield f"{strays} chunks belong to no file"
    files = list(
        connection.execute(
            "SELECT id, chunk_count, digest, path, category, session_id, title, date, tags, line_count,"
            " skipped FROM files"
        )
    )
    wrong = 0
    for file, count, digest, *fields in files:
        chunks = list(
            connection.execute(
                "SELECT position, start_line, end_line, speaker, date, heading, about, text FROM chunks"
                " WHERE file_id = ? ORDER BY position",
                (file,),
            )
        )
        if len(chunks) != count or file_digest(fields, chunks) != digest:
            wrong += 1
            if wrong <= _MOST:
                yield f"the chunks of {fields[0]} differ from what was written"


def _vectors(connection: apsw.Connection) -> Iterator[str]:
    sums = dict(
        connection.execute(
            "SELECT id, vector_sum FROM chunks WHERE vector_sum IS NOT NULL AND vector_sum <> ?",
            (vectors.NOTHING_TO_EMBED,),
        )
    )
    dimensions = schema.get_meta(connection, "dimensions")
    stored = 0
    for chunk, vector in connection.execute("SELECT chunk, vector FROM chunk_vectors"):
        stored += 1
        if not isinstance(vector, bytes) or zlib.crc32(vector) != sums.get(chunk):
            yield f"the vector of chunk {chunk} differs from what was written"
            return
        if str(len(vector)) != dimensions:
            yield f"its vectors have {len(vector)} dimensions instead of {dimensions or 'none'}"
            return
    if stored != len(sums):
        yield f"it contains {stored} vectors for {len(sums)} chunks"
