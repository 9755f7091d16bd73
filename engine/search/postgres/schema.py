"""The tables of a shared index in PostgreSQL, and the migrations that make them (spec 7.2).

Each workspace is a memory repository, known by its first commit. ``contents`` are versions of files, stored
once for all clones; ``holdings`` say which clone (a holder) has which version. What nobody holds is deleted.
``chunks`` and ``vectors`` are those of the contents, ``terms`` and ``totals`` statistics of the whole.

Row-level security hides the rows of other workspaces. A search for words needs operators that PostgreSQL
does not evaluate before that check, so that no index could be used; the functions below check the workspace
themselves and run with the rights of the owner.

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
SCHEMA = "autopoiesis"
_LOCK = 0x41504F49
"""The first key of the advisory locks; the second is a workspace, or 0 for the tables."""

_FIRST = f"""
CREATE TABLE workspaces (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,           -- the first commit of its repository
    roles name[] NOT NULL DEFAULT '{{}}'  -- who may see it; empty: every role with rights to the tables
);
CREATE TABLE totals (
    workspace integer PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,   -- of all chunks
    files bigint NOT NULL DEFAULT 0,    -- contents with chunks
    stamp bigint NOT NULL DEFAULT 0,    -- of the last change
    complete boolean NOT NULL DEFAULT false  -- whether some holder has indexed all of its files
);
CREATE TABLE holders (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace integer NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    machine text NOT NULL,              -- a random name of the clone
    model integer,                      -- whose vectors it searches
    seen timestamptz NOT NULL DEFAULT now(),  -- when it last was known to be there
    refreshed timestamptz,              -- when it last compared all of its files
    UNIQUE (workspace, machine)
);
CREATE TABLE contents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace integer NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    path text NOT NULL,
    sha256 text NOT NULL,
    form text NOT NULL,                 -- of what is stored for the same bytes
    category text NOT NULL,
    date text NOT NULL,                 -- ISO, '' when undated
    chunks integer NOT NULL DEFAULT 0,
    extent integer NOT NULL DEFAULT 0,  -- the total of its chunks' lengths
    digest text NOT NULL,               -- of its chunks, against silent damage
    stamp bigint NOT NULL,              -- of the last change
    rival boolean NOT NULL DEFAULT false,  -- whether there is another version of the file
    UNIQUE (workspace, path, sha256, form)
);
CREATE INDEX contents_rival ON contents (workspace) WHERE rival;
CREATE TABLE holdings (
    workspace integer NOT NULL,
    holder integer NOT NULL REFERENCES holders ON DELETE CASCADE,
    path text NOT NULL,
    content bigint REFERENCES contents, -- NULL if it is skipped, or gone while others still have it
    gone boolean NOT NULL DEFAULT false,
    category text NOT NULL,
    skipped text NOT NULL,              -- why the file has no content
    sha256 text NOT NULL,               -- these five as in engine.search.changes.Known
    size bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    ctime_ns bigint NOT NULL,
    read_ns bigint NOT NULL,
    PRIMARY KEY (holder, path)
);
CREATE INDEX holdings_content ON holdings (content);
CREATE INDEX holdings_without ON holdings (holder) WHERE content IS NULL;
CREATE TABLE chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace integer NOT NULL,
    content bigint NOT NULL REFERENCES contents ON DELETE CASCADE,
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
CREATE INDEX chunks_content ON chunks (content, position);
CREATE INDEX chunks_workspace ON chunks (workspace, id);
CREATE INDEX chunks_name ON chunks (workspace, name, content) WHERE name <> 0;
CREATE INDEX chunks_terms ON chunks USING gin (terms) WITH (gin_pending_list_limit = 512);
CREATE TABLE models (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace integer NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    dimensions integer NOT NULL,
    rows bigint NOT NULL DEFAULT 0,     -- of vectors
    lease timestamptz NOT NULL DEFAULT now(),  -- until when a holder computes missing vectors
    leased integer,                     -- that holder
    UNIQUE (workspace, name, dimensions)
);
CREATE TABLE vectors (
    workspace integer NOT NULL,
    model integer NOT NULL REFERENCES models ON DELETE CASCADE,
    chunk bigint NOT NULL REFERENCES chunks ON DELETE CASCADE,
    sum bigint NOT NULL,                -- CRC-32 of the vector; -1: the text has none
    vector bytea NOT NULL,              -- eight bits per dimension, scaled to the full range
    signs bit({PLANES}),
    PRIMARY KEY (chunk, model)
);
CREATE INDEX vectors_sample ON vectors (model, sum) WHERE sum >= 0;
CREATE INDEX vectors_signs ON vectors USING hnsw (signs bit_hamming_ops) WITH (m = 24, ef_construction = 64);
CREATE TABLE terms (
    workspace integer NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    term integer NOT NULL,
    chunks integer NOT NULL,
    PRIMARY KEY (workspace, term)
) WITH (fillfactor = 60);
CREATE TABLE sessions (                 -- the arrays of engine.search.past.Session, packed
    workspace integer NOT NULL,
    content bigint PRIMARY KEY REFERENCES contents ON DELETE CASCADE,
    words bytea NOT NULL,
    places bytea NOT NULL,
    lengths bytea NOT NULL,
    spoken bytea NOT NULL
);

CREATE FUNCTION may_see(roles name[]) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT roles = '{{}}' OR EXISTS (
        SELECT FROM pg_roles WHERE rolname = ANY (roles) AND pg_has_role(session_user, oid, 'member')
    )
$$;
CREATE FUNCTION here() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = {SCHEMA}, pg_temp AS $$
    SELECT id FROM workspaces
    WHERE id = nullif(current_setting('autopoiesis.workspace', true), '')::integer AND may_see(roles)
$$;
CREATE FUNCTION by_words(
    asked integer[], weights real[], after bigint, hidden bigint[], wanted text, most integer
) RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = {SCHEMA}, pg_temp SET enable_seqscan = off AS $$
    SELECT id FROM (
        SELECT found.id, word.weight FROM unnest(asked, weights) AS word (term, weight)
        CROSS JOIN LATERAL (
            SELECT chunks.id FROM chunks
            -- Sums, lest the planner, who does not know the values, takes the index of these columns.
            WHERE chunks.terms @> ARRAY[word.term] AND workspace + 0 = (SELECT here())
                AND chunks.id + 0 > after AND content <> ALL (hidden) AND wanted IN ('', category)
        ) AS found
    ) AS matches
    GROUP BY id ORDER BY sum(weight) DESC, id DESC LIMIT most
$$;
CREATE FUNCTION by_signs(asked bit, of integer, hidden bigint[], wanted text, most integer)
RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = {SCHEMA}, {{extension}}, pg_temp SET enable_seqscan = off AS $$
    SELECT chunk FROM (
        SELECT chunk, signs <~> asked AS distance FROM vectors
        WHERE model + 0 = of AND workspace + 0 = (SELECT here())
            AND (hidden = '{{}}' AND wanted = '' OR EXISTS (
                SELECT FROM chunks
                WHERE chunks.id = chunk AND content <> ALL (hidden) AND wanted IN ('', category)
            ))
        ORDER BY signs <~> asked LIMIT most
    ) AS nearest ORDER BY distance, chunk
$$;
"""

_COUNTING = f"""
CREATE FUNCTION count_chunks() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {SCHEMA}, pg_temp AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO terms SELECT workspace, term, count(*) FROM changed, unnest(changed.terms) AS term
        GROUP BY workspace, term ORDER BY workspace, term
        ON CONFLICT (workspace, term) DO UPDATE SET chunks = terms.chunks + excluded.chunks;
    ELSE
        UPDATE terms SET chunks = terms.chunks - fewer.chunks FROM (
            SELECT workspace, term, count(*) AS chunks FROM changed, unnest(changed.terms) AS term
            GROUP BY workspace, term
        ) AS fewer WHERE terms.workspace = fewer.workspace AND terms.term = fewer.term;
        DELETE FROM terms USING (SELECT DISTINCT workspace, unnest(changed.terms) AS term FROM changed) AS one
        WHERE terms.workspace = one.workspace AND terms.term = one.term AND chunks <= 0;
    END IF;
    UPDATE totals SET chunks = totals.chunks + sign * more.chunks, length = totals.length + sign * more.length
    FROM (SELECT workspace, count(*) AS chunks, sum(length) AS length FROM changed GROUP BY workspace) AS more
    WHERE totals.workspace = more.workspace;
    WITH counted AS (
        UPDATE contents
        SET chunks = contents.chunks + sign * more.chunks, extent = extent + sign * more.length
        FROM (
            SELECT workspace, content, count(*) AS chunks, sum(length) AS length FROM changed
            GROUP BY workspace, content
        ) AS more
        WHERE id = more.content AND contents.workspace = more.workspace
        RETURNING contents.workspace, contents.chunks - (sign + 1) / 2 * more.chunks AS others
    )
    UPDATE totals SET files = totals.files + sign * more.files
    FROM (SELECT workspace, count(*) AS files FROM counted WHERE others = 0 GROUP BY workspace) AS more
    WHERE totals.workspace = more.workspace;
    RETURN NULL;
END $$;
CREATE FUNCTION count_contents() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {SCHEMA}, pg_temp AS $$
BEGIN
    UPDATE totals SET files = totals.files - more.files
    FROM (SELECT workspace, count(*) AS files FROM changed WHERE chunks > 0 GROUP BY workspace) AS more
    WHERE TG_OP = 'DELETE' AND totals.workspace = more.workspace;
    UPDATE contents SET rival = many FROM (
        SELECT workspace, path, count(*) > 1 AS many FROM contents
        JOIN (SELECT DISTINCT workspace, path FROM changed) AS each USING (workspace, path)
        GROUP BY workspace, path
    ) AS counted
    WHERE contents.workspace = counted.workspace AND contents.path = counted.path AND rival <> many;
    RETURN NULL;
END $$;
CREATE FUNCTION count_vectors() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {SCHEMA}, pg_temp AS $$
BEGIN
    UPDATE models SET rows = rows + CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * more.vectors
    FROM (SELECT workspace, model, count(*) AS vectors FROM changed GROUP BY workspace, model) AS more
    WHERE id = more.model AND models.workspace = more.workspace;
    RETURN NULL;
END $$;
""" + "".join(
    f"CREATE TRIGGER {event}_counted AFTER {event} ON {table} REFERENCING {rows} TABLE AS changed"
    f" FOR EACH STATEMENT EXECUTE FUNCTION count_{table}();"
    for table in ("chunks", "contents", "vectors")
    for event, rows in (("insert", "NEW"), ("delete", "OLD"))
)
"""Statistics are kept by the server, whoever writes and whatever follows from a deletion."""

_SECURED = ("totals", "holders", "contents", "holdings", "chunks", "models", "vectors", "terms", "sessions")
_SECURITY = "".join(
    f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
    f"CREATE POLICY here ON {table} USING (workspace = (SELECT here()));"
    for table in _SECURED
)
_WORKSPACES = (
    "ALTER TABLE workspaces ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY seen ON workspaces FOR SELECT USING (may_see(roles));"
    "CREATE POLICY made ON workspaces FOR INSERT WITH CHECK (true);"
)

MIGRATIONS = (f"{_FIRST}{_COUNTING}{_SECURITY}{_WORKSPACES}",)
"""In order; each leads from the version of its place to the next one. Never change one that was released."""
VERSION = len(MIGRATIONS)


def version_of(connection: Server) -> int:
    """The version of the tables; 0 if there are none.

    Raises:
        IndexFailed: They are of a newer version of the program.
    """
    row = connection.execute(f"SELECT to_regclass('{SCHEMA}.version') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return 0
    row = connection.execute(f"SELECT coalesce(max(number), 0) FROM {SCHEMA}.version").fetchone()
    version = int(row[0]) if row else 0
    if version > VERSION:
        raise IndexFailed(
            f"the shared index was made by a newer version of the program (schema {version}, not {VERSION})",
            where=WHERE,
            hint="update autopoiesis on this machine",
        )
    return version


def migrate(connection: Server) -> None:
    """Bring the tables to the newest version. Call within a transaction that holds the lock.

    Raises:
        IndexFailed: They are of a newer version of the program.
        psycopg.Error: The role may not do it, or pgvector is not installed on the server.
    """
    version = version_of(connection)
    if version == VERSION:
        return
    if not version:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(f"CREATE TABLE IF NOT EXISTS {SCHEMA}.version (number integer PRIMARY KEY)")
    connection.execute(f"CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA {SCHEMA}")
    row = connection.execute(
        "SELECT quote_ident(nspname) FROM pg_extension"
        " JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'vector'"
    ).fetchone()
    extension = str(row[0]) if row else SCHEMA  # somebody may have installed it elsewhere
    connection.execute(f"SET LOCAL search_path = {SCHEMA}, {extension}".encode())
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute(statements.replace("{extension}", extension).encode())
        connection.execute("INSERT INTO version VALUES (%s)", (number,))


def lock(connection: Server, workspace: int = 0) -> None:
    """Let no other program write to a workspace, or to the tables, until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK, workspace))
