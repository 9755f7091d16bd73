"""Fixtures: a small workspace, and indexes that are closed after the test.

A test marked ``both`` runs with its index in memory.db and in a PostgreSQL; ``both(False)`` excepts one of a
module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.search import fallback
from engine.search.embeddings import Embedder
from engine.search.index import SearchIndex
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.postgres.servers import Postgres, committed, started
from tests.search.samples import FILES, put


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run marked tests once for each place that an index can be in."""
    mark = metafunc.definition.get_closest_marker("both")
    if mark is not None and mark.args != (False,) and "kept_in" in metafunc.fixturenames:
        metafunc.parametrize("kept_in", ["memory.db", "postgresql"])


@pytest.fixture
def kept_in() -> str:
    """Where the index is."""
    return "memory.db"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests of this process."""
    with started() as server:
        for name in ("made", "shared"):
            with server.connect() as connection:
                connection.execute(f"CREATE DATABASE {name}")
            with server.connect(name) as connection:
                connection.execute("CREATE EXTENSION vector")
        yield server


@pytest.fixture
def url(kept_in: str, request: pytest.FixtureRequest) -> str:
    """The address of the index; empty for memory.db. Every memory has its own tables there."""
    return request.getfixturevalue("postgres").url("shared") if kept_in == "postgresql" else ""


@pytest.fixture
def workspace(tmp_path: Path, kept_in: str) -> Workspace:
    """An empty workspace; with a first commit if it shares its index."""
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    if kept_in == "postgresql":
        (root / ".gitignore").write_text("scratch/\n")
        committed(root)
    return Workspace.open(root)


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """A workspace with files of most kinds."""
    for path, content in FILES.items():
        put(workspace, path, content)
    return workspace


@pytest.fixture(autouse=True)
def unhurried_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a search without an index the time to find everything, however slow the machine is."""
    defaults = fallback.search.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "time_limit_s", 60.0)


Open = Callable[..., SearchIndex]


@pytest.fixture
def open_index(url: str) -> Iterator[Open]:
    """Opens indexes of workspaces, and closes them after the test."""
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
