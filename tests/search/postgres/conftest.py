"""Fixtures: a PostgreSQL on a socket of its own, and clones of a memory that share an index in it.

``open_index`` and ``workspace`` are as in ``tests.search.conftest``, so that tests of behaviour run on both.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.search.embeddings import Embedder
from engine.search.index import SearchIndex
from engine.search.postgres.server import Connections
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.postgres.servers import Postgres, committed, started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests of this process."""
    with started() as server:
        with server.connect() as connection:
            connection.execute("CREATE DATABASE made")
        connections = Connections(server.url("made"))
        connections.prepare(10)
        connections.close()
        yield server


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The name of a database with the empty tables of an index."""
    with postgres.database("made") as name:
        yield name


@pytest.fixture
def url(postgres: Postgres, database: str) -> str:
    """The address of that database."""
    return postgres.url(database)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty memory with one commit."""
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    (root / ".gitignore").write_text("scratch/\n")
    committed(root)
    return Workspace.open(root)


@pytest.fixture
def clone(workspace: Workspace) -> Callable[[str], Workspace]:
    """Makes further clones of the memory, with the files that it has now."""

    def made(name: str) -> Workspace:
        root = workspace.root.with_name(name)
        shutil.copytree(workspace.root, root, ignore=shutil.ignore_patterns("scratch", "memory.db*"))
        return Workspace.open(root)

    return made


@pytest.fixture
def open_index(url: str) -> Iterator[Open]:
    """Opens shared indexes of workspaces, and closes them after the test."""
    opened: list[SearchIndex] = []

    def open_one(
        workspace: Workspace,
        embedder: Embedder | None = None,
        *,
        settings: SearchSettings | None = None,
        read_only: bool = False,
        lock_timeout_s: float = 60.0,
        at: str = url,
    ) -> SearchIndex:
        index = SearchIndex(
            workspace,
            Files(workspace),
            settings or SearchSettings(),
            embedder,
            url=at,
            read_only=read_only,
            lock_timeout_s=lock_timeout_s,
        )
        opened.append(index)
        return index

    yield open_one
    for index in opened:
        index.close()
