"""The tables of a shared index in PostgreSQL, and the migrations that make them (spec 7.2).

Each memory has a schema of its own, named by the first commit of its repository, so that rights to one memory
give none to another: neither its rows, nor its keys, indexes and counters can be read, changed or probed.
Within it, ``files`` are versions of files, stored once for all clones of the memory; ``holdings`` say which
clone (a holder) has which version. What nobody holds is deleted. The rest is as in memory.db.

The index is a cache: a migration may empty the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import IndexFailed
from engine.search.vectors import PLANES

if TYPE_CHECKING:
    from psycopg import Connection

    Server = Connection[tuple[Any, ...]]

WHERE = "index.url"
"""The setting that errors name."""
READ_S = 2.0
"""Seconds that a search may take; then the files are read."""
_LOCK = 0x41504F49
"""Of those who make or change the tables."""

_FIRST = f"""
CREATE TABLE totals (                   -- one row, which a writer locks
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,   -- of all chunks
    files bigint NOT NULL DEFAULT 0,    -- versions with chunks
    stamp bigint NOT NULL DEFAULT 0,    -- of the last change
    complete boolean NOT NULL DEFAULT false  -- whether some holder has indexed all of its files
);
INSERT INTO totals DEFAULT VALUES;
CREATE TABLE models (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    dimensions integer NOT NULL,
    rows bigint NOT NULL DEFAULT 0,     -- of vectors
    used timestamptz NOT NULL DEFAULT now(),
    UNIQUE (name, dimensions)
);
CREATE TABLE holders (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    machine text NOT NULL UNIQUE,       -- a random name of the clone
    seen timestamptz NOT NULL DEFAULT now(),  -- when it last was known to be there
    refreshed timestamptz               -- when it last compared all of its files
);
CREATE TABLE files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path text NOT NULL,
    sha256 text NOT NULL,
    form text NOT NULL,                 -- of what is stored for the same bytes
    category text NOT NULL,
    date text NOT NULL,                 -- ISO, '' when undated
    chunks integer NOT NULL DEFAULT 0,
    extent integer NOT NULL DEFAULT 0,  -- the total of its chunks' lengths
    digest text NOT NULL,               -- of its chunks, against silent damage
    stamp bigint NOT NULL,              -- of the last change
    UNIQUE (path, sha256, form)
);
CREATE TABLE holdings (
    holder integer NOT NULL REFERENCES holders ON DELETE CASCADE,
    path text NOT NULL,
    file bigint REFERENCES files,       -- NULL if it is skipped, or gone while others still have it
    gone boolean NOT NULL DEFAULT false,
    category text NOT NULL,
    skipped text NOT NULL,              -- why the file has no version
    sha256 text NOT NULL,               -- these five as in engine.search.writer.Known
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    ctime_ns bigint NOT NULL,
    read_ns bigint NOT NULL,
    PRIMARY KEY (holder, path)
);
CREATE INDEX holdings_file ON holdings (file);
CREATE INDEX holdings_without ON holdings (holder) WHERE file IS NULL;
CREATE TABLE chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file_id bigint NOT NULL REFERENCES files ON DELETE CASCADE,
    category text NOT NULL,
    position integer NOT NULL,          -- place in the file, from 0; neighbours are one apart
    start_line integer NOT NULL,
    end_line integer NOT NULL,
    length integer NOT NULL,            -- these eight as in engine.search.facts.Facts
    size integer NOT NULL,
    day integer NOT NULL,
    name bigint NOT NULL,
    kind smallint NOT NULL,
    is_person smallint NOT NULL,
    terms integer[] NOT NULL,           -- signed, since PostgreSQL has no unsigned numbers
    counts bytea NOT NULL,
    speaker text NOT NULL,
    date text NOT NULL,
    heading text NOT NULL,
    about text NOT NULL,
    text text NOT NULL
);
CREATE INDEX chunks_file ON chunks (file_id, position);
CREATE INDEX chunks_name ON chunks (name, file_id) WHERE name <> 0;
CREATE INDEX chunks_terms ON chunks USING gin (terms) WITH (gin_pending_list_limit = 512);
CREATE TABLE vectors (
    model integer NOT NULL REFERENCES models ON DELETE CASCADE,
    chunk bigint NOT NULL REFERENCES chunks ON DELETE CASCADE,
    sum bigint NOT NULL,                -- CRC-32 of the vector; -1: the text has none
    vector bytea NOT NULL,              -- eight bits per dimension, scaled to the full range
    signs bit({PLANES}),
    PRIMARY KEY (chunk, model)
);
CREATE INDEX vectors_sample ON vectors (model, sum) WHERE sum >= 0;
CREATE INDEX vectors_signs ON vectors USING hnsw (signs bit_hamming_ops) WITH (m = 24, ef_construction = 64);
CREATE TABLE terms (term integer PRIMARY KEY, chunks integer NOT NULL) WITH (fillfactor = 60);
CREATE TABLE sessions (                 -- the arrays of engine.search.past.Session, packed
    file bigint PRIMARY KEY REFERENCES files ON DELETE CASCADE,
    words bytea NOT NULL,
    places bytea NOT NULL,
    lengths bytea NOT NULL,
    spoken bytea NOT NULL
);

CREATE FUNCTION count_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO terms
        SELECT term, count(*) FROM changed, unnest(terms) AS term GROUP BY term ORDER BY term
        ON CONFLICT (term) DO UPDATE SET chunks = terms.chunks + excluded.chunks;
    ELSE
        UPDATE terms SET chunks = terms.chunks - fewer.chunks FROM (
            SELECT term, count(*) AS chunks FROM changed, unnest(terms) AS term GROUP BY term
        ) AS fewer WHERE terms.term = fewer.term;
        DELETE FROM terms WHERE chunks <= 0 AND term IN (SELECT unnest(changed.terms) FROM changed);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION count_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE models SET rows = rows + CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * more.vectors
    FROM (SELECT model, count(*) AS vectors FROM changed GROUP BY model) AS more WHERE id = more.model;
    RETURN NULL;
END $$;
""" + "".join(
    f"CREATE TRIGGER {event}_counted AFTER {event} ON {table} REFERENCING {rows} TABLE AS changed"
    f" FOR EACH STATEMENT EXECUTE FUNCTION count_{table}();"
    for table in ("chunks", "vectors")
    for event, rows in (("insert", "NEW"), ("delete", "OLD"))
)
"""What follows from deletions is counted by the server."""

MIGRATIONS = (_FIRST,)
"""In order; each leads from the version of its place to the next one. Never change one that was released."""
VERSION = len(MIGRATIONS)


def version_of(connection: Server, memory: str) -> tuple[int, str]:
    """The version of a memory's tables, 0 if there are none; and the schema that pgvector is in, quoted.

    Args:
        memory: The name of its schema.

    Raises:
        IndexFailed: They are of a newer version of the program.
    """
    ((is_there, extension),) = connection.execute(
        "SELECT to_regclass(%s || '.version') IS NOT NULL, (SELECT quote_ident(nspname) FROM pg_extension"
        " JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector')",
        (memory,),
    ).fetchall()
    version = 0
    if is_there:
        query = f"SELECT coalesce(max(number), 0) FROM {memory}.version"
        ((version,),) = connection.execute(query.encode()).fetchall()
    if version > VERSION:
        raise IndexFailed(
            f"the shared index was made by a newer version of the program (schema {version}, not {VERSION})",
            where=WHERE,
            hint="update autopoiesis on this machine",
        )
    return version, extension or "public"


def migrate(connection: Server, memory: str) -> None:
    """Bring a memory's tables to the newest version. Call within a transaction.

    Raises:
        IndexFailed: They are of a newer version of the program.
        psycopg.Error: The role may not do it, or pgvector is not installed on the server.
    """
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    version, extension = version_of(connection, memory)
    if not version:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {memory}".encode())
    connection.execute(f"SET LOCAL search_path = {memory}, {extension}".encode())
    if not version:
        connection.execute("CREATE TABLE version (number integer PRIMARY KEY)")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute(statements.encode())
        connection.execute("INSERT INTO version VALUES (%s)", (number,))
