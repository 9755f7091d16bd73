"""The server of a shared index: who may see what, and what happens without it."""

from __future__ import annotations

import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, ConfigError, IndexBusy, IndexFailed
from engine.search.index import SearchIndex
from engine.search.postgres import schema, server
from engine.search.postgres.place import memory_of
from engine.search.state import EVERYWHERE, Word
from engine.settings import trust
from engine.store.git import Git
from engine.store.paths import Workspace
from engine.workspace.search_state import search_findings
from tests.cases import each_case
from tests.search.conftest import Open
from tests.search.postgres.servers import Database, Postgres, committed
from tests.search.samples import FILES, BagOfWords, put
from tests.waiting import wait_until

TABLES = [
    "totals",
    "holders",
    "files",
    "holdings",
    "chunks",
    "models",
    "vectors",
    "terms",
    "sessions",
    "version",
]


@pytest.fixture
def roles(database: Database) -> Iterator[Callable[..., str]]:
    """Makes roles that may log in, with rights to memories as the documentation says; returns addresses."""
    made = []

    def make(name: str, rights: str, memory: str = database.memory) -> str:
        with database.connect() as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN")
            made.append(name)
            connection.execute(f"GRANT USAGE ON SCHEMA {memory} TO {name}")
            connection.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA {memory} TO {name}")
            connection.execute(f"REVOKE INSERT, UPDATE, DELETE ON {memory}.version FROM {name}")
        return database.url(name)

    yield make
    with database.connect() as connection:
        for name in made:
            connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


WRITER, READER = "SELECT, INSERT, UPDATE, DELETE", "SELECT"


def another_memory(tmp_path: Path, text: str) -> Workspace:
    """A memory with another first commit."""
    root = tmp_path / "another"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    committed(root)
    workspace = Workspace.open(root)
    put(workspace, "knowledge/facts.md", text)
    return workspace


# Roles and memories.


def test_a_writer_of_one_memory_can_neither_read_nor_change_nor_probe_another(
    filled: Workspace, tmp_path: Path, open_index: Open, database: Database, roles: Callable[..., str]
) -> None:
    secret = "# Facts\n\nA secret zeppelin.\n"
    theirs = another_memory(tmp_path, secret)
    for workspace in (filled, theirs):
        open_index(workspace, BagOfWords()).refresh()
    ours, other = database.memory, memory_of(theirs.root)
    index = open_index(filled, BagOfWords(), at=roles("role_a", WRITER))
    owner = open_index(theirs, BagOfWords(), at=roles("role_b", WRITER, other))
    (stolen,) = database.rows(f"SELECT id, sha256 FROM {other}.files")
    before = [database.rows(f"SELECT * FROM {other}.{table}") for table in TABLES]
    with database.connect("role_a") as connection:
        for table in TABLES:
            for attempt in (
                f"SELECT count(*) FROM {other}.{table}",
                f"INSERT INTO {other}.{table} DEFAULT VALUES",
                f"DELETE FROM {other}.{table}",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(attempt)
        # What a file of theirs would be called here is unknown here, and free.
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute("UPDATE chunks SET file_id = %s", (10_000 + stolen[0],))
        connection.execute("UPDATE holdings SET sha256 = %s", (stolen[1],))
        columns = "path, sha256, form, category, date, digest, stamp"
        values = f"'knowledge/facts.md', '{stolen[1]}', form, '', '', '', 0"
        connection.execute(f"INSERT INTO files ({columns}) SELECT {values} FROM files LIMIT 1")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT last_value FROM {other}.files_id_seq")
    assert [database.rows(f"SELECT * FROM {other}.{table}") for table in TABLES] == before
    assert index.verify().rebuilt and index.search("rye")[0].source == "index"
    assert not [each for each in index.search("zeppelin", 50) if "zeppelin" in each.text]
    refused = open_index(theirs, at=database.url("role_a"))
    assert refused.search("zeppelin")[0].source != "index"
    with pytest.raises(IndexFailed, match="permission denied for schema"):
        refused.refresh()
    assert owner.search("zeppelin")[0].source == "index" and owner.verify(repair=False).sound
    assert ours != other


def test_a_reader_searches_and_cannot_write(
    filled: Workspace, open_index: Open, database: Database, roles: Callable[..., str]
) -> None:
    open_index(filled, BagOfWords()).refresh()
    open_index(filled, BagOfWords(), at=roles("a_writer", WRITER)).rebuild()
    reader = roles("a_reader", READER)
    index = open_index(filled, BagOfWords(), at=reader, read_only=True)
    assert index.search("rye bread")[0].source == "index"
    assert index.status().files == len(FILES)
    put(filled, "knowledge/reference/new.md", "# New\n")
    with pytest.raises(IndexFailed, match="permission denied"):
        open_index(filled, at=reader).refresh()


def test_the_indexes_of_words_and_vectors_are_used(
    filled: Workspace, open_index: Open, database: Database
) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    with database.connect() as connection:
        columns = "speaker, date, heading, about, text, length, size, day, name, kind, is_person, counts"
        connection.execute(
            f"INSERT INTO chunks (file_id, category, position, start_line, end_line, terms, {columns})"
            f" SELECT file_id, category, 9, 1, 1, ARRAY[number, number / 10], {columns}"
            " FROM (SELECT * FROM chunks LIMIT 1) AS one, generate_series(1, 800) AS number"
        )
        connection.execute(
            "INSERT INTO vectors SELECT 1, id, id, '', (SELECT"
            " string_agg(('x' || md5((9 * id + part)::text))::bit(128)::text, '')"
            " FROM generate_series(1, 8) AS part)::bit varying FROM chunks WHERE position = 9"
        )
        connection.execute("ANALYZE")
    scans = "SELECT indexrelname, sum(idx_scan) FROM pg_stat_user_indexes GROUP BY 1"  # of all memories

    def are_used() -> bool:
        """Whether both were, as the server counts with a delay of a second or more."""
        with index._storage.read() as state:
            assert len(state.by_words([Word("", 1, 70)], 99, EVERYWHERE)) == 11
            assert len(state.by_vector(BagOfWords().embed(["rye"])[0], 9, EVERYWHERE)) == 9
        with database.connect() as connection:
            used = dict(connection.execute(scans).fetchall())
        return bool(used["chunks_terms"] and used["vectors_signs"])

    wait_until(are_used)


def test_a_server_without_tables_is_prepared_by_its_owner_alone(
    filled: Workspace, open_index: Open, postgres: Postgres
) -> None:
    with postgres.database() as name:
        with postgres.connect(name) as connection:
            connection.execute("CREATE ROLE nobody_special LOGIN")
        try:
            index = open_index(filled, at=postgres.url(name, "nobody_special"))
            with pytest.raises(IndexFailed, match="run autopoiesis index once as the owner"):
                index.refresh()
            assert index.status().why == "the server has no index of this memory yet"
            index.close()
            owner = open_index(filled, at=postgres.url(name))
            assert owner.refresh().added == len(FILES)
            owner.close()
        finally:
            with postgres.connect(name) as connection:
                connection.execute("DROP ROLE nobody_special")


# Versions.


def test_a_newer_schema_is_refused_with_the_cure(
    filled: Workspace, open_index: Open, database: Database
) -> None:
    open_index(filled).refresh()
    with database.connect() as connection:
        connection.execute(f"INSERT INTO version VALUES ({schema.VERSION + 1})")
    index = open_index(filled)
    with pytest.raises(IndexFailed, match=r"newer version of the program .*update autopoiesis"):
        index.refresh()
    assert index.search("rye bread")[0].source != "index"
    assert "newer version" in index.status().why


@each_case("are_cut", [False, True])
def test_a_memory_that_is_dropped_under_an_open_index_is_built_again(
    filled: Workspace, open_index: Open, database: Database, *, are_cut: bool
) -> None:
    index = open_index(filled)
    index.refresh()
    with database.connect() as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {database.memory} CASCADE")
        if are_cut:
            others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
    with pytest.raises(IndexFailed):
        index.refresh()
    index.close()
    again = open_index(filled)
    assert again.search("rye bread")[0].source != "index"
    again.refresh()
    assert again.search("rye bread")[0].source == "index"


def test_migrations_run_once_and_in_order(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    open_index(filled).refresh()
    added = ("ALTER TABLE totals ADD first int", "ALTER TABLE totals RENAME first TO second")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, *added))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 2)
    indexes = [open_index(filled) for _ in range(3)]
    assert indexes[0].status().state == "outdated"
    threads = [threading.Thread(target=index.refresh) for index in indexes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.connect() as connection:
        assert connection.execute("SELECT second FROM totals").fetchall() == [(None,)]
    assert indexes[0].search("rye bread")[0].source == "index"


# A server that is lost, slow or busy.


def test_without_a_server_the_files_are_searched_with_the_reason(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, at="postgresql:///none?host=/nowhere")
    (first, *_) = index.search("rye bread")
    assert first.source != "index" and "the server cannot be reached" in first.why
    assert index.past().sessions == () and index.turns(1) == []
    assert index.status().state == "broken" and "index.url" in index.status().why
    with pytest.raises(IndexFailed, match="the server cannot be reached"):
        index.refresh()


def test_doctor_says_that_the_server_is_lost(filled: Workspace) -> None:
    with engine_of(filled.root, "postgresql:///none?host=/nowhere") as engine:
        (found,) = [each for each in search_findings(filled, engine.files) if "search index" in each.text]
    assert found.level == "warning" and "the server cannot be reached" in found.text
    assert found.hint == "check the server and index.url"


def test_a_silent_server_is_waited_for_once(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    connects: list[str] = []
    connect: Any = psycopg.connect

    def noted(url: str, **options: Any) -> Any:
        connects.append(url)
        return connect(url, **options)

    monkeypatch.setattr(psycopg, "connect", noted)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        index = open_index(filled, at=f"postgresql://someone@127.0.0.1:{port}/none")
        assert index.why_not_ready()
        assert index.search("rye bread")[0].source != "index"
        with pytest.raises(IndexFailed, match="the server cannot be reached"):
            index.refresh()
    assert len(connects) == 1


def test_a_query_that_takes_too_long_is_answered_from_the_files(
    filled: Workspace, open_index: Open, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(filled)
    index.refresh()
    monkeypatch.setattr("engine.search.postgres.shared.READ_S", 0.5)
    monkeypatch.setattr(server, "_PAUSE_S", 0.0)
    with database.connect() as connection:
        connection.execute("BEGIN; LOCK TABLE chunks")
        (first, *_) = index.search("rye bread")
        assert first.source != "index"
        connection.execute("ROLLBACK")
    assert index.search("rye bread")[0].source == "index"


def test_another_writer_is_waited_for_as_long_as_asked(
    filled: Workspace, open_index: Open, database: Database
) -> None:
    index = open_index(filled)
    index.refresh()
    put(filled, "knowledge/reference/new.md", "# New\n\nA zeppelin landed.\n")
    with database.connect() as connection:
        connection.execute("BEGIN; SELECT FROM totals FOR UPDATE")
        with pytest.raises(IndexBusy, match="another machine is indexing"):
            index.refresh(wait_s=0.05)
        connection.execute("ROLLBACK")
    assert index.refresh().added == 1


# Settings.


def test_a_memory_without_commits_is_not_shared(filled: Workspace, open_index: Open) -> None:
    shutil.rmtree(filled.root / ".git")
    with pytest.raises(IndexFailed, match="without commits"):
        open_index(filled).refresh()
    assert open_index(filled).search("rye bread")[0].source != "index"


def test_a_shallow_clone_is_refused_with_the_cure(filled: Workspace, open_index: Open) -> None:
    (filled.root / ".git/shallow").write_text("")
    with pytest.raises(IndexFailed, match="git fetch --unshallow"):
        open_index(filled).refresh()


def test_a_password_in_the_address_is_refused_and_not_repeated(sample: Path, open_index: Open) -> None:
    config = sample / "memory-config.yaml"
    for url in ("postgresql://a:hunter2@host/db", "postgresql://host/db?password=hunter2"):
        config.write_text(f"index:\n  url: {url}\n")
        with pytest.raises(ConfigError, match="settings are in git") as caught:
            Engine.open(sample)
        assert "hunter2" not in str(caught.value) and "pgpass" in caught.value.hint
        with pytest.raises(IndexFailed, match="settings are in git") as refused:
            open_index(Workspace.open(sample), at=url).refresh()
        assert "hunter2" not in str(refused.value)
        config.write_text("")
        with Engine.open(sample) as engine, pytest.raises(ConfigError, match="settings are in git") as kept:
            engine.configuration.change("index.url", url)
        assert "hunter2" not in str(kept.value)
    config.write_text("index:\n  url: mysql://host/db\n")
    with pytest.raises(ConfigError, match="postgresql://host/database"):
        Engine.open(sample)


def test_without_the_extra_the_error_names_it(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "psycopg", None)
        without.delitem(sys.modules, "engine.search.postgres.server")
        index = open_index(filled)
        with pytest.raises(IndexFailed, match=r"pip install 'autopoiesis\[postgresql\]'"):
            index.refresh()
        assert "psycopg is not installed" in index.search("rye bread")[0].why


def engine_of(root: Path, url: str) -> Engine:
    (root / "memory-config.yaml").write_text(f"index:\n  url: {url}\n")
    return Engine.open(root)


def test_an_untrusted_workspace_does_not_connect(
    filled: Workspace, url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(trust.VARIABLE, raising=False)
    with engine_of(filled.root, url) as engine:
        engine.refresh_index()
        assert engine.search("rye bread")[0].source == "index" and filled.database.is_file()
    with database.connect() as connection:
        assert connection.execute("SELECT to_regnamespace(%s)", (database.memory,)).fetchone() == (None,)
    (act,) = trust.read(engine.files).trust.acts
    assert (act.name, act.does) == (
        "index.url",
        "sends the text of every file to a server, where other clones search it",
    )


def test_a_trusted_workspace_is_searched_on_the_server_and_its_past_here(
    filled: Workspace, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(trust.VARIABLE, "all")
    (filled.root / ".gitignore").write_text("scratch/\nmemory.db*\n")
    git = Git(filled.root)
    for each in ("user.name", "user.email"):
        git.run("config", each, "a@example.org", reading=False)
    with engine_of(filled.root, url) as engine:
        git.run("add", "--all", reading=False)
        git.run("commit", "--quiet", "-m", "files", reading=False)
        engine.refresh_index()
        assert engine.search("rye bread")[0].source == "index"
        assert "caraway" in engine.compile("What about the caraway bread?").text
        assert not filled.database.exists()
        (found,) = [each for each in search_findings(filled, engine.files) if "search index" in each.text]
        assert found.level == "ok" and f"{len(FILES)} files" in found.text
        past = engine.revisions.compile("What about the caraway bread?", engine.revisions.find("HEAD"))
        assert "caraway" in past.text
        assert not filled.database.exists()


def test_a_file_that_only_another_clone_has_stands_in_the_prompt(
    filled: Workspace, clone: Callable[[str], Workspace], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(trust.VARIABLE, "all")
    other = clone("other")
    put(other, "knowledge/reference/airships.md", "# Airships\n\nThe zeppelin lands at the northern mast.\n")
    with engine_of(other.root, url) as there, engine_of(filled.root, url) as here:
        there.refresh_index()
        assert "northern mast" in here.compile("Where does the zeppelin land?").text


def test_errors_of_the_server_are_errors_of_the_program() -> None:
    assert issubclass(IndexFailed, AutopoiesisError)
    with pytest.raises(IndexFailed, match="is no address"):
        server.Connections("postgresql://[", "memory")


def test_a_closed_index_keeps_no_connection(filled: Workspace, open_index: Open, database: Database) -> None:
    index: SearchIndex = open_index(filled)
    index.refresh()
    threads = [threading.Thread(target=index.search, args=("rye bread",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index.close()
    with database.connect() as connection:

        def has_none() -> bool:  # the server ends a process a moment after its connection is closed
            rows = connection.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'autopoiesis' AND datname = %s",
                (database.name,),
            )
            return bool(rows.fetchone() == (0,))

        wait_until(has_none)
