"""Schema migrations: a newer index is rebuilt, and another program's database is left alone."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from engine.errors import IndexFailed
from engine.search import chunks, database, schema
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, BagOfWords


def test_migrations_run_once_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    schema.migrate(connection)
    assert schema.version_of(connection) == len(schema.MIGRATIONS)

    def more(connection: apsw.Connection) -> None:
        connection.execute("ALTER TABLE chunks ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
    schema.migrate(connection)
    schema.migrate(connection)
    assert schema.version_of(connection) == len(schema.MIGRATIONS)
    assert connection.execute("SELECT count(*) FROM pragma_table_info('chunks') WHERE name = 'mood'").get == 1


def test_a_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    schema.migrate(connection)
    version = schema.version_of(connection)

    def broken(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE half (x)")
        connection.execute("CREATE TABLE half (x)")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, broken))
    with pytest.raises(apsw.SQLError):
        schema.migrate(connection)
    assert schema.version_of(connection) == version
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0


def test_an_index_of_an_older_version_keeps_its_chunks(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_index(filled).refresh()

    def more(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE later (x)")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, more))
    index = open_index(filled)
    assert index.status().state == "outdated"
    assert index.search("rye bread")[0].source in ("ripgrep", "scan")
    assert index.settle(20)
    report = index.refresh()
    assert (report.added, report.rebuilt) == (0, "")
    assert index.search("rye bread")[0].source == "index"


def test_archived_files_of_an_older_index_get_their_own_category(filled: Workspace, open_index: Open) -> None:
    open_index(filled).refresh()
    connection = apsw.Connection(str(filled.database))
    connection.execute("UPDATE files SET category = 'journal' WHERE category = 'archive'")
    connection.pragma("user_version", 2)
    connection.close()
    index = open_index(filled)
    index.refresh()
    assert [each.path for each in index.search("tulips", category="archive")] == [
        "archive/journal/2025-01-02.md"
    ]
    assert not any(each.path.startswith("archive/") for each in index.search("tulips", category="journal"))


def test_an_index_of_a_newer_version_is_rebuilt(filled: Workspace, open_index: Open) -> None:
    open_index(filled).refresh()
    with apsw.Connection(str(filled.database)) as connection:
        connection.pragma("user_version", 99)
    index = open_index(filled)
    assert index.search("rye bread")[0].source in ("ripgrep", "scan")
    assert index.settle(20)
    assert index.search("rye bread")[0].source == "index"
    assert index.status().state == "ready"


def test_the_reason_for_a_rebuild_is_reported(filled: Workspace, open_index: Open) -> None:
    open_index(filled).refresh()
    with apsw.Connection(str(filled.database)) as connection:
        connection.pragma("user_version", 99)
    report = open_index(filled).refresh()
    assert report.rebuilt == "it was made by a newer version of the program (schema 99)"
    assert report.added == len(FILES)


def test_another_programs_database_is_left_alone(filled: Workspace, open_index: Open) -> None:
    with apsw.Connection(str(filled.database)) as connection:
        connection.execute("CREATE TABLE customers (name)")
        connection.execute("INSERT INTO customers VALUES ('Ada')")
    connection.close()
    before = filled.database.read_bytes()
    index = open_index(filled)
    assert index.search("rye bread")[0].path == "knowledge/journal/2026-02-16.md"
    assert index.settle(5)
    with pytest.raises(IndexFailed, match=r"memory\.db: is another program's database; move it away"):
        index.refresh()
    assert index.status().state == "broken"
    assert filled.database.read_bytes() == before


def test_files_are_indexed_again_after_a_change_of_the_chunking(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(filled)
    index.refresh()
    monkeypatch.setattr(chunks, "VERSION", "another")
    report = index.refresh()
    assert (report.changed, report.unchanged) == (len(FILES), 0)
    assert index.refresh().changed == 0


def test_ranking_finds_everything_it_needs_in_the_database(filled: Workspace, open_index: Open) -> None:
    open_index(filled, BagOfWords()).refresh()
    connection = database.open_reader(filled.database)
    rows = list(
        connection.execute(
            "SELECT chunks.position, chunks.speaker, chunks.date, files.session_id, files.tags, files.title"
            " FROM chunks JOIN files ON files.id = chunks.file_id WHERE session_id <> '' ORDER BY position"
        )
    )
    assert rows == [
        (place, speaker, "2026-02-16", "ses_a1b2c3d4", '["coding", "git"]', "Storage talk")
        for place, speaker in enumerate(["user", "agent", "agent"])
    ]
    connection.close()
