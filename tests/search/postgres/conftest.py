"""Fixtures: a database of one's own, and clones of a memory that share an index in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest

from engine.search.postgres.place import memory_of
from engine.store.paths import Workspace
from tests.search.postgres.servers import Database, Postgres


@pytest.fixture
def kept_in() -> str:
    """Where the index is."""
    return "postgresql"


@pytest.fixture
def name(postgres: Postgres) -> Iterator[str]:
    """A new database."""
    with postgres.database("made") as name:
        yield name


@pytest.fixture
def url(postgres: Postgres, name: str) -> str:
    """Its address."""
    return postgres.url(name)


@pytest.fixture
def database(postgres: Postgres, name: str, workspace: Workspace) -> Database:
    """It, with the tables of the memory once it is indexed."""
    return Database(postgres, name, memory_of(workspace.root))


@pytest.fixture
def clone(workspace: Workspace) -> Callable[[str], Workspace]:
    """Makes further clones of the memory, with the files that it has now."""

    def made(name: str) -> Workspace:
        root = workspace.root.with_name(name)
        shutil.copytree(workspace.root, root, ignore=shutil.ignore_patterns("scratch", "memory.db*"))
        return Workspace.open(root)

    return made
