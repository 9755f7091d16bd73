"""An index of another version is rebuilt, and another program's database is left alone."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest

from engine.errors import IndexFailed
from engine.search import chunks, schema
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES


def test_the_tables_are_made_once(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    schema.create(connection)
    schema.create(connection)
    assert schema.version_of(connection) == schema.VERSION
    connection.pragma("user_version", schema.VERSION - 1)
    with pytest.raises(schema.OtherVersion, match="another version of the program"):
        schema.create(connection)


@pytest.mark.parametrize("version", [schema.VERSION - 1, 99])
def test_an_index_of_another_version_is_rebuilt(version: int, filled: Workspace, open_index: Open) -> None:
    open_index(filled).refresh()
    with apsw.Connection(str(filled.database)) as connection:
        connection.pragma("user_version", version)
    index = open_index(filled)
    assert index.status().state == "outdated"
    assert index.search("rye bread")[0].source == "scan"
    assert index.settle(20)
    assert index.search("rye bread")[0].source == "index"
    assert index.status().state == "ready"


def test_the_reason_for_a_rebuild_is_reported(filled: Workspace, open_index: Open) -> None:
    open_index(filled).refresh()
    with apsw.Connection(str(filled.database)) as connection:
        connection.pragma("user_version", 99)
    report = open_index(filled).refresh()
    assert report.rebuilt == "it was made by another version of the program (schema 99)"
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


def test_an_index_is_readable_by_its_owner_alone(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    made = sorted(filled.root.glob("memory.db*"))
    assert made and all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in made), made
    filled.database.chmod(0o640)
    open_index(filled).refresh()
    assert stat.S_IMODE(filled.database.stat().st_mode) == 0o640, "what somebody shares stays shared"
