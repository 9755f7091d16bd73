"""Connections to the PostgreSQL of a shared index: few, reused, and never waited for long (spec 7.2)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from engine.errors import IndexBusy, IndexFailed
from engine.search.postgres import schema
from engine.search.postgres.schema import READ_S, WHERE
from engine.search.reports import Unavailable

if TYPE_CHECKING:
    from engine.search.postgres.schema import Server


_CONNECT_S = 2
"""The least that libpq waits."""
_WRITE_S = 60.0
_EXAMINED = 1_000
"""Neighbours that pgvector keeps while it walks its graph. Of the 100 nearest of 100,000 chunks of random
words .97 are found then, and .85 with 300 neighbours."""
_IDLE = 4
_SLOW_S = 0.5
_PAUSE_S = 5.0
"""After a server did not connect within ``_SLOW_S``, or let a statement run out of time, it is not asked
again for so long: a hook searches several times, and may not wait each time."""


class Connections:
    """A pool of connections, each lent to one thread at a time and opened on demand. Thread-safe.

    Every method raises ``IndexFailed`` if the server refuses, does not answer or has a newer schema.

    Args:
        url: As ``index.url`` in the settings.
        memory: The name of the memory's schema.
    """

    def __init__(self, url: str, memory: str) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error as error:
            raise IndexFailed(
                f"is no address of a PostgreSQL ({_line(error)})", where=WHERE, hint="correct it"
            ) from error
        if "password" in given or "sslpassword" in given:
            raise IndexFailed(
                "contains a password, and settings are in git",
                where=WHERE,
                hint="keep it in ~/.pgpass or PGPASSWORD",
            )
        self._url = url
        self._memory = memory
        self._guard = threading.Lock()
        self._idle: list[Server] = []
        self._closed = False
        self._silent_until = 0.0
        self._silence = ""
        self._version = 0
        self._extension = ""

    @contextlib.contextmanager
    def reading(self, timeout_s: float = READ_S) -> Iterator[Server]:
        """Lend a connection in a read-only transaction with a consistent view.

        Args:
            timeout_s: For each statement; from PostgreSQL 17 on, also for all of them together.

        Raises:
            Unavailable: There are no tables, or those of an earlier version.
        """
        begin = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
            f"SET LOCAL hnsw.ef_search = {_EXAMINED}; SET LOCAL hnsw.iterative_scan = relaxed_order;"
            # The planner does not know which words are asked for.
            "SET LOCAL enable_seqscan = off"
        )
        ends = f"; SET LOCAL transaction_timeout = {_ms(timeout_s)}"
        with self._lent(begin, timeout_s, timeout_s, ends) as connection:
            if self._version < schema.VERSION:
                if self._version:
                    raise Unavailable("outdated", "the shared index was built by an earlier version")
                raise Unavailable("missing", "the server has no index of this memory yet")
            yield connection

    @contextlib.contextmanager
    def writing(self, wait_s: float) -> Iterator[Server]:
        """Lend a connection in a transaction that excludes other writers.

        Args:
            wait_s: Seconds to wait for another writer.

        Raises:
            IndexBusy: Another writer was not done within ``wait_s``.
        """
        # A machine that falls asleep does not keep the others waiting.
        begin = f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = {_ms(_WRITE_S)}"
        with self._lent(begin, _WRITE_S, wait_s) as connection:
            connection.execute("SELECT FROM totals FOR UPDATE")
            yield connection

    def prepare(self, wait_s: float) -> None:
        """Make or update the tables where necessary."""
        if self._version == schema.VERSION:
            return
        with self._lent("BEGIN", _WRITE_S, wait_s) as connection:
            if self._version < schema.VERSION:
                schema.migrate(connection, self._memory)
                self._close_idle()
        self._version = schema.VERSION

    def close(self) -> None:
        """Close the idle connections, and the others when they are given back."""
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextlib.contextmanager
    def _lent(self, begin: str, statement_s: float, lock_s: float, since_17: str = "") -> Iterator[Server]:
        """Lend a connection in a transaction; it is dropped after any error.

        Args:
            since_17: Added to ``begin`` from PostgreSQL 17 on.
        """

        def start(connection: Server) -> None:
            # Settings of the transaction: those of a session would not survive a pooler.
            settings = (
                f"{begin}; SET LOCAL search_path = {self._memory}, {self._extension};"
                f"SET LOCAL statement_timeout = {_ms(statement_s)}; SET LOCAL lock_timeout = {_ms(lock_s)};"
                # What is lost in a crash is the newest of a cache, whole transactions of it.
                "SET LOCAL synchronous_commit = off; SET LOCAL jit = off"
            )
            is_17 = connection.info.server_version >= 170_000
            connection.execute((settings + since_17 * is_17).encode())

        if time.monotonic() < self._silent_until:
            raise IndexFailed(self._silence, where=WHERE, hint=_CHECK)
        connection = None
        try:
            with self._guard:
                connection = self._idle.pop() if self._idle else None
            try:
                connection = connection or self._connected()
                start(connection)
            except psycopg.OperationalError:
                if connection is None:
                    raise
                connection.close()
                self._close_idle()  # the server was restarted since they were used
                connection = self._connected()
                start(connection)
            yield connection
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if isinstance(error, _OUT_OF_TIME):
                self._pause(error)
            raise _user_error(error) from error
        else:
            with self._guard:
                if not self._closed and len(self._idle) < _IDLE:
                    self._idle.append(connection)
                    connection = None
        finally:
            if connection is not None:
                connection.close()

    def _pause(self, error: psycopg.Error) -> None:
        self._silence = _user_error(error).what
        self._silent_until = time.monotonic() + _PAUSE_S

    def _connected(self) -> Server:
        started = time.monotonic()
        try:
            connection = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                application_name="autopoiesis",
                tcp_user_timeout=5_000,
                keepalives_idle=10,
                # So that a pooler may give every transaction another session.
                prepare_threshold=None,
            )
        except psycopg.Error as error:
            if time.monotonic() - started > _SLOW_S:
                self._pause(error)
            raise
        try:
            self._version, self._extension = schema.version_of(connection, self._memory)
        except BaseException:
            connection.close()
            raise
        return connection


def _ms(seconds: float) -> int:
    return max(1, round(1000 * seconds))


_OUT_OF_TIME = (psycopg.errors.QueryCanceled, psycopg.errors.TransactionTimeout)
_CHECK = "check the server and index.url"


def _user_error(error: psycopg.Error) -> IndexFailed:
    """An error of the server as one that the user can act on."""
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return IndexBusy("another machine is indexing", where=WHERE, hint="try again when it has finished")
    if isinstance(error, _OUT_OF_TIME):
        return IndexFailed("the server took too long", where=WHERE, hint=_CHECK)
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return IndexFailed(
            f"the server refuses it ({_line(error)})",
            where=WHERE,
            hint="run autopoiesis index once as the owner of the database, and grant this role its rights",
        )
    if isinstance(error, psycopg.errors.UndefinedFile | psycopg.errors.FeatureNotSupported):
        return IndexFailed(
            f"pgvector is missing ({_line(error)})", where=WHERE, hint="install it on the server"
        )
    if isinstance(error, psycopg.OperationalError):
        return IndexFailed(f"the server cannot be reached ({_line(error)})", where=WHERE, hint=_CHECK)
    return IndexFailed(f"the shared index failed ({_line(error)})", where=WHERE, hint=_CHECK)


def _line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__
