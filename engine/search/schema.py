"""The tables of memory.db and their migrations (spec 7.2, design 3.6).

``files`` and ``chunks`` store what was read; ``chunk_words`` (FTS5) and ``chunk_vectors`` (for sqlite-vec)
store what is searched, both keyed by the chunk's row id. Everything ranking needs to know about a chunk is a
column: its position in the file (and so its neighbours), its session, its speaker, its date.

``chunk_words`` takes its text from ``chunks``, rewritten by ``searchable`` for scripts that the tokenizer
cannot read, and is kept in sync by triggers, so that FTS5 can compare the two to detect damage.

``chunk_vectors`` is an ordinary table that is scanned with sqlite-vec's distance function, not a ``vec0``
table. Measured on 10,000 vectors on disk, the scan takes the same 6 ms, the similarity of 50 given chunks .1
ms instead of 2.3, and a thousand neighbours 8 ms instead of 21; a category narrows the scan instead of
filtering its result; and rows can be replaced and checked like any others. Vectors have eight bits per
dimension, each vector scaled to the full range, which does not change the cosine: a quarter of the bytes of
floats, with similarities accurate to a hundredth.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import apsw

from engine.errors import IndexFailed
from engine.search import scripts

APPLICATION_ID = 0x41504F49
"""Marks the file as ours in the database header (``APOI``)."""

TOKENIZER = ("porter", ["unicode61"])
"""The tokenizer of ``chunk_words``, as declared below."""

BM25_WEIGHTS = (1.0, 0.8, 0.4)
"""Weights of a word in a chunk's text, heading and ``about`` terms."""


class ForeignDatabase(IndexFailed):
    """The file with the index's name is another program's database, and is never deleted."""


class NewerSchema(IndexFailed):
    """The index was written by a newer version of this program; since it is a cache, it is rebuilt."""


def _first_tables(connection: apsw.Connection) -> None:
    connection.execute(
        """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE files (
            id INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            category TEXT NOT NULL,
            session_id TEXT NOT NULL,   -- of a transcript
            title TEXT NOT NULL,
            date TEXT NOT NULL,         -- ISO, '' when undated
            tags TEXT NOT NULL,         -- JSON array
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            read_ns INTEGER NOT NULL,   -- when the content was last compared
            line_count INTEGER NOT NULL,
            chunk_count INTEGER NOT NULL,
            skipped TEXT NOT NULL,      -- why the file has no chunks though it should
            digest TEXT NOT NULL        -- of this row and its chunks, against silent damage
        );
        CREATE TABLE chunks (
            id INTEGER PRIMARY KEY,
            file_id INTEGER NOT NULL REFERENCES files (id),
            position INTEGER NOT NULL,              -- place in the file, from 0; neighbours are one apart
            start_line INTEGER NOT NULL,
            end_line INTEGER NOT NULL,
            vector_sum INTEGER,                     -- CRC-32 of the vector; NULL: none yet, -1: none possible
            speaker TEXT NOT NULL,
            date TEXT NOT NULL,
            heading TEXT NOT NULL,
            about TEXT NOT NULL,                    -- words that lead to the chunk and are not in it
            text TEXT NOT NULL
        );
        CREATE INDEX chunks_by_file ON chunks (file_id, position);
        CREATE INDEX chunks_without_vector ON chunks (id) WHERE vector_sum IS NULL;
        CREATE TABLE chunk_vectors (chunk INTEGER PRIMARY KEY, vector BLOB NOT NULL);
        CREATE VIRTUAL TABLE chunk_words USING fts5 (
            text, heading, about, content='chunks', content_rowid='id', tokenize='porter unicode61'
        );
        CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
            INSERT INTO chunk_words (rowid, text, heading, about)
            VALUES (new.id, new.text, new.heading, new.about);
        END;
        CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
            INSERT INTO chunk_words (chunk_words, rowid, text, heading, about)
            VALUES ('delete', old.id, old.text, old.heading, old.about);
            DELETE FROM chunk_vectors WHERE chunk = old.id;
        END;
        """
    )


def _stamps(connection: apsw.Connection) -> None:
    """Stamps that tell the in-memory copy what has changed."""
    connection.execute(
        """
        ALTER TABLE files ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;  -- of the last change
        CREATE INDEX files_by_stamp ON files (stamp);
        CREATE TABLE gone (file INTEGER PRIMARY KEY, stamp INTEGER NOT NULL);
        """
    )
    set_meta(connection, "index", os.urandom(8).hex())


def _archive(connection: apsw.Connection) -> None:
    """A separate category for archived files."""
    connection.execute(
        """
        UPDATE files SET category = 'archive'
        WHERE (path LIKE 'archive/%' OR path LIKE 'knowledge/archive/%') AND category <> 'conversation'
        """
    )
    set_meta(connection, "index", os.urandom(8).hex())


def _passages(connection: apsw.Connection) -> None:
    """What past sessions may tell the one at work (``engine.search.passages``)."""
    connection.execute(
        """
        CREATE TABLE sessions (       -- the arrays of engine.search.past.Session, packed
            file INTEGER PRIMARY KEY,
            words BLOB NOT NULL,
            places BLOB NOT NULL,
            lengths BLOB NOT NULL,
            spoken BLOB NOT NULL
        );
        CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN
            DELETE FROM sessions WHERE file = old.id;
        END;
        UPDATE files SET sha256 = '' WHERE category = 'conversation';
        """
    )


def _scripts(connection: apsw.Connection) -> None:
    """Words of every script (``engine.search.scripts``)."""
    connection.execute(
        """
        DROP TRIGGER chunk_added;
        DROP TRIGGER chunk_removed;
        DROP TABLE chunk_words;
        CREATE VIEW chunk_texts AS
            SELECT id, searchable(text) AS text, searchable(heading) AS heading, searchable(about) AS about
            FROM chunks;
        CREATE VIRTUAL TABLE chunk_words USING fts5 (
            text, heading, about, content='chunk_texts', content_rowid='id', tokenize='porter unicode61'
        );
        CREATE TRIGGER chunk_added AFTER INSERT ON chunks BEGIN
            INSERT INTO chunk_words (rowid, text, heading, about)
            VALUES (new.id, searchable(new.text), searchable(new.heading), searchable(new.about));
        END;
        CREATE TRIGGER chunk_removed AFTER DELETE ON chunks BEGIN
            INSERT INTO chunk_words (chunk_words, rowid, text, heading, about)
            VALUES (
                'delete', old.id, searchable(old.text), searchable(old.heading), searchable(old.about)
            );
            DELETE FROM chunk_vectors WHERE chunk = old.id;
        END;
        INSERT INTO chunk_words (chunk_words) VALUES ('rebuild');
        """
    )
    set_meta(connection, "index", os.urandom(8).hex())


def _change_times(connection: apsw.Connection) -> None:
    """A time of change that programs cannot set, as they can that of modification."""
    connection.execute("ALTER TABLE files ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (
    *(_first_tables, _stamps, _archive, _passages, _scripts, _change_times),
)
"""Step ``n`` takes a database from version ``n`` to ``n + 1``. Steps are added, never changed."""


def add_functions(connection: apsw.Connection) -> None:
    """Define the function that the schema uses; without it, chunks can be neither added nor removed."""
    connection.create_scalar_function(
        "searchable", _searchable, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
    )


def _searchable(*values: apsw.SQLiteValue) -> apsw.SQLiteValue:
    # Damage may change the type, which is found when the chunk is read.
    (value,) = values
    return scripts.searchable(value) if isinstance(value, str) else value


def version_of(connection: apsw.Connection) -> int:
    """The number of migrations applied to a database; 0 if it is empty.

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


def migrate(connection: apsw.Connection) -> None:
    """Migrate a database to the newest version, in one transaction.

    Raises:
        NewerSchema: Its version is newer than this program.
        ForeignDatabase: It belongs to another program.
        apsw.Error: It is damaged.
    """
    version = version_of(connection)
    if version > len(MIGRATIONS):
        raise NewerSchema(f"was made by a newer version of the program (schema {version})")
    if version == len(MIGRATIONS):
        return
    add_functions(connection)
    with connection:
        for step in MIGRATIONS[version:]:
            step(connection)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", len(MIGRATIONS))


def get_meta(connection: apsw.Connection, key: str) -> str:
    """A value in the ``meta`` table; ``""`` if it is missing."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


def all_meta(connection: apsw.Connection) -> defaultdict[str, str]:
    """The ``meta`` table; ``""`` for missing keys."""
    return defaultdict(str, connection.execute("SELECT key, value FROM meta"))


def next_stamp(connection: apsw.Connection) -> int:
    """A new stamp for the changes in the current transaction."""
    stamp = int(get_meta(connection, "stamp") or 0) + 1
    set_meta(connection, "stamp", str(stamp))
    return stamp


def set_meta(connection: apsw.Connection, key: str, value: str) -> None:
    """Store a value in the ``meta`` table."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )
