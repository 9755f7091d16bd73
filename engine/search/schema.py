"""The tables of memory.db (spec 7.2, design 3.6).

``files`` and ``chunks`` store what was read, and beside the text of each chunk what it is ranked by: its
terms with their counts, its length, day and speaker (``engine.search.facts``). ``vectors`` follow, since a
model may be slow. Two indexes of extensions name candidates: ``chunk_words`` (FTS5) by words, ``chunk_signs``
(sqlite-vec) by the signs of the vectors; both keep no copy of the text and are keyed by the chunk's row id.
``terms`` and ``totals`` are statistics of the whole, so that no query reads all of it.

The index is a cache. One made by another version of the program is deleted and built again.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import apsw

from engine.errors import IndexFailed
from engine.search.reports import Unavailable

APPLICATION_ID = 0x41504F49
"""Marks the file as ours in the database header (``APOI``)."""

VERSION = 11
"""Bump when the tables, or what is stored in them for the same chunk, would be different."""

TOKENIZER = ("porter", ["unicode61"])
"""The tokenizer of ``chunk_words``, as declared below."""


class ForeignDatabase(IndexFailed):
    """The file with the index's name is another program's database, and is never deleted."""


class OtherVersion(IndexFailed):
    """The index was written by another version of this program; since it is a cache, it is rebuilt."""


_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    category TEXT NOT NULL,
    date TEXT NOT NULL,         -- ISO, '' when undated
    skipped TEXT NOT NULL,      -- why the file has no chunks though it should
    sha256 TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,   -- when the content was last compared
    chunk_count INTEGER NOT NULL,
    extent INTEGER NOT NULL,    -- the total of its chunks' lengths
    digest TEXT NOT NULL,       -- of this row and its chunks, against silent damage
    stamp INTEGER NOT NULL      -- of the last change
);
CREATE INDEX files_skipped ON files (path) WHERE skipped <> '';
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    file_id INTEGER NOT NULL REFERENCES files (id),
    position INTEGER NOT NULL,  -- place in the file, from 0; neighbours are one apart
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    length INTEGER NOT NULL,    -- these eight as in engine.search.facts.Facts
    size INTEGER NOT NULL,
    day INTEGER NOT NULL,
    name INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    is_person INTEGER NOT NULL,
    terms BLOB NOT NULL,
    counts BLOB NOT NULL,
    speaker TEXT NOT NULL,
    date TEXT NOT NULL,
    heading TEXT NOT NULL,
    about TEXT NOT NULL,        -- words that lead to the chunk and are not in it
    text TEXT NOT NULL
);
CREATE INDEX chunks_by_file ON chunks (file_id, position);
CREATE INDEX chunks_by_name ON chunks (name, file_id) WHERE name <> 0;
CREATE VIRTUAL TABLE chunk_words USING fts5 (
    prose, heading, about, aside, content='', contentless_delete=1, tokenize='porter unicode61'
);
CREATE TABLE terms (term INTEGER PRIMARY KEY, chunks INTEGER NOT NULL);
CREATE TABLE totals (
    chunks INTEGER NOT NULL, length INTEGER NOT NULL, files INTEGER NOT NULL, vectors INTEGER NOT NULL
);
INSERT INTO totals VALUES (0, 0, 0, 0);
CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY,
    sum INTEGER NOT NULL,       -- CRC-32 of the vector; -1: the text has none
    vector BLOB NOT NULL        -- eight bits per dimension, scaled to the full range
);
CREATE INDEX vectors_sample ON vectors (sum) WHERE sum >= 0;
CREATE TABLE sessions (         -- the arrays of engine.search.past.Session, packed
    file INTEGER PRIMARY KEY,
    words BLOB NOT NULL,
    places BLOB NOT NULL,
    lengths BLOB NOT NULL,
    spoken BLOB NOT NULL
);
CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
    UPDATE totals SET chunks = chunks + 1, length = length + new.length;
END;
CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
    UPDATE totals SET chunks = chunks - 1, length = length - old.length;
    DELETE FROM chunk_words WHERE rowid = old.id;
    DELETE FROM vectors WHERE chunk = old.id;
END;
CREATE TRIGGER vector_added AFTER INSERT ON vectors BEGIN
    UPDATE totals SET vectors = vectors + 1;
END;
CREATE TRIGGER vector_removed AFTER DELETE ON vectors BEGIN
    UPDATE totals SET vectors = vectors - 1;
END;
CREATE TRIGGER file_added AFTER INSERT ON files BEGIN
    UPDATE totals SET files = files + (new.chunk_count > 0);
END;
CREATE TRIGGER file_changed AFTER UPDATE OF chunk_count ON files BEGIN
    UPDATE totals SET files = files + (new.chunk_count > 0) - (old.chunk_count > 0);
END;
CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN
    UPDATE totals SET files = files - (old.chunk_count > 0);
    DELETE FROM sessions WHERE file = old.id;
END;
"""


def version_of(connection: apsw.Connection) -> int:
    """The version of a database; 0 if it is empty.

    Raises:
        ForeignDatabase: It belongs to another program.
        apsw.CorruptError: It is ours, but its header is damaged.
    """
    version = int(connection.pragma("user_version"))
    if connection.pragma("application_id") == APPLICATION_ID:
        return version
    tables = {
        str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    }
    if not tables:
        return 0
    if tables >= {"files", "chunks"}:
        raise apsw.CorruptError("the database's header is damaged")
    raise ForeignDatabase(
        "is another program's database",
        where=Path(connection.filename).name,
        hint="move it away; the search index needs this path",
    )


def create(connection: apsw.Connection) -> None:
    """Create the tables in an empty database, in one transaction; nothing if they are there.

    Raises:
        OtherVersion: It has the tables of another version.
        ForeignDatabase: It belongs to another program.
        apsw.Error: It is damaged.
    """
    version = version_of(connection)
    if version == VERSION:
        return
    if version:
        raise OtherVersion(f"was made by another version of the program (schema {version})")
    with connection:
        connection.execute(_TABLES)
        set_meta(connection, "index", os.urandom(8).hex())
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)


def require_complete(connection: apsw.Connection) -> None:
    """Do nothing if the index can answer.

    Raises:
        Unavailable: It cannot.
        ForeignDatabase, apsw.Error: As for ``version_of``.
    """
    version = version_of(connection)
    if not version:
        raise Unavailable("missing", "the search index is empty")
    if version != VERSION:
        raise Unavailable("outdated", "the search index was built by another version")
    if get_meta(connection, "complete") != "1":
        raise Unavailable("building", "the search index is being built")


def get_meta(connection: apsw.Connection, key: str) -> str:
    """A value in the ``meta`` table; ``""`` if it is missing."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


def all_meta(connection: apsw.Connection) -> defaultdict[str, str]:
    """The ``meta`` table; ``""`` for missing keys."""
    return defaultdict(str, connection.execute("SELECT key, value FROM meta"))


def set_meta(connection: apsw.Connection, key: str, value: str) -> None:
    """Store a value in the ``meta`` table."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )
