"""Opening memory.db: one writer, many readers, and a file that may vanish at any moment (spec 7.2)."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import apsw

from engine.errors import AutopoiesisError, IndexFailed, ReadOnly
from engine.search.filesystem import is_shared
from engine.search.reports import State
from engine.startup.records import dataclass

READ_WAIT_MS = 1000
WRITE_WAIT_MS = 15_000
_READ_CACHE_KB = 32_000
_WRITE_CACHE_KB = 32_000
_LOG_BYTES = 16 * 1024 * 1024
_IDLE_READERS = 4
_VECTOR_PACKAGE = "sqlite_vec"
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""Ends a rollback journal that names a file to be deleted once it is rolled back."""

FAULTS = (apsw.Error, OSError, UnicodeError, ValueError, OverflowError, MemoryError)
"""All that using a database file can raise, damaged or out of reach."""

_ENVIRONMENT = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.FullError,
    apsw.IOError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
    apsw.CantOpenError,
    apsw.NoMemError,
    apsw.InterruptError,
    apsw.MisuseError,
    apsw.ThreadingViolationError,
    apsw.ConnectionClosedError,
    apsw.ForkingViolationError,
    OSError,
    MemoryError,
)

Identity = tuple[int, int]
"""Device and inode: the file a connection has open, whatever stands under its name now."""


class Unavailable(Exception):
    """The index cannot answer now; the files themselves can."""

    def __init__(self, state: State, why: str) -> None:
        super().__init__(why)
        self.state = state
        self.why = why


def is_damage(error: BaseException) -> bool:
    """Whether an error of ``FAULTS`` is about the file's content, not the disk, a lock or a permission."""
    return not isinstance(error, _ENVIRONMENT)


def explained(error: BaseException, path: Path) -> AutopoiesisError:
    """An error of ``FAULTS`` as one a person can act on."""
    where = path.name
    if isinstance(error, apsw.FullError):
        return IndexFailed("the disk is full", where=where, hint="free some disk space and index again")
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return ReadOnly(
            "the search index cannot be written", where=where, hint="check the permissions of its folder"
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return IndexFailed(
            "another program is writing to it", where=where, hint="try again when it has finished"
        )
    hint = "check the disk" if not is_damage(error) else "run: autopoiesis index --rebuild"
    return IndexFailed(f"the search index failed ({error})", where=where, hint=hint)


def vector_library() -> tuple[str, str]:
    """Where sqlite-vec's shared library is, found without importing its package (which imports numpy).

    Returns:
        Its path without suffix and ``""``; or ``""`` and the reason in one clause.
    """
    found = importlib.util.find_spec(_VECTOR_PACKAGE)
    if found is None or not found.submodule_search_locations:
        return "", "the package sqlite-vec is not installed"
    return str(Path(found.submodule_search_locations[0]) / "vec0"), ""


def load_vectors(connection: apsw.Connection) -> str:
    """Give a connection sqlite-vec.

    Returns:
        ``""``, or why it has none, in one clause.
    """
    library, why = vector_library()
    if why:
        return why
    try:
        connection.enable_load_extension(True)
        connection.load_extension(library)
    except apsw.Error as error:
        return f"sqlite-vec cannot be loaded ({error})"
    finally:
        connection.enable_load_extension(False)
    return ""


def identity(path: Path) -> Identity | None:
    """The file that stands under the name now, a symlink itself; ``None`` when there is none."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def oddity(path: Path) -> str:
    """Why a database must not be opened although something is there, in one clause; empty when it may be.

    SQLite makes what is missing and follows no link in the last part of a name; a link on the way, and what
    is not a regular file, it accepts.
    """
    for suffix in _SUFFIXES:
        place = path.with_name(path.name + suffix)
        try:
            mode = place.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(mode):
            return f"{place.name} is a symlink, which is not followed"
        if not stat.S_ISREG(mode):
            return f"{place.name} is not a regular file"
    return ""


def remove(path: Path) -> None:
    """Delete the database with all that belongs to it; of a symlink the link.

    Processes that have it open keep what they have until they look for it the next time.

    Raises:
        ReadOnly: The folder cannot be written.
    """
    for suffix in _SUFFIXES:
        try:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        except OSError as error:
            raise ReadOnly(
                f"the search index cannot be deleted ({error.strerror})",
                where=path.name,
                hint="check the permissions of its folder",
            ) from error


def open_writer(path: Path) -> apsw.Connection:
    """A connection that may write; the file is made when there is none. Nothing in it is changed yet.

    Raises:
        IndexFailed: It, or a file that belongs to it, is a symlink or not a regular file.
        apsw.Error: The file cannot be opened, or is no database.
    """
    if odd := oddity(path):
        raise IndexFailed(
            odd, where=path.name, hint="see: autopoiesis doctor, or run: autopoiesis index --rebuild"
        )
    _refuse_foreign_journal(path)
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
    )
    try:
        _prepare(connection, WRITE_WAIT_MS)
        connection.pragma("cache_size", -_WRITE_CACHE_KB)
    except FAULTS:
        connection.close()
        raise
    return connection


def set_journal(connection: apsw.Connection, folder: Path) -> None:
    """Use the write-ahead log, so that readers and the writer do not wait for each other.

    Not on a file system that machines share: there its index, which lies in shared memory, is not shared.

    Raises:
        apsw.Error: The database is damaged or cannot be written.
    """
    wanted = "delete" if is_shared(folder) else "wal"
    if connection.pragma("journal_mode") != wanted:
        with contextlib.suppress(apsw.BusyError):  # a reader is at work: the next writer will change it
            connection.pragma("journal_mode", wanted)
    # A cache need not survive a power cut with its last commit, only as a whole.
    connection.pragma("synchronous", "normal")
    connection.pragma("journal_size_limit", _LOG_BYTES)


def open_reader(path: Path) -> apsw.Connection:
    """A connection that reads.

    Raises:
        Unavailable: There is no file; or it, or one that belongs to it, is a symlink or not a regular file.
        apsw.Error: The file cannot be opened, or is no database.
    """
    if odd := oddity(path):
        raise Unavailable("broken", odd)
    if identity(path) is None:
        raise Unavailable("missing", "there is no search index")
    _refuse_foreign_journal(path)
    # A reader of a write-ahead log has to write its lock table. Where it may not, the last resort is to
    # open the file as immutable.
    attempts = [(str(path), apsw.SQLITE_OPEN_READWRITE), (str(path), apsw.SQLITE_OPEN_READONLY)]
    attempts.append(
        (f"file:{quote(str(path))}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    )
    for position, (name, flags) in enumerate(attempts, 1):
        connection = None
        try:
            connection = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_NOFOLLOW)
            _prepare(connection, READ_WAIT_MS)
            connection.pragma("query_only", True)
            connection.pragma("cache_size", -_READ_CACHE_KB)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except FAULTS as error:
            if connection is not None:
                connection.close()
            refused = isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError)
            if position < len(attempts) and refused:
                continue
            raise
        return connection
    raise Unavailable("missing", "there is no search index")


def _refuse_foreign_journal(path: Path) -> None:
    """Looks at a journal before SQLite rolls it back: that one of ours never names another file.

    Raises:
        apsw.CorruptError: This one does.
    """
    try:
        handle = os.open(f"{path}-journal", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        end = os.fstat(handle).st_size - len(_MAGIC)
        if end > 0 and os.pread(handle, len(_MAGIC), end) == _MAGIC:
            raise apsw.CorruptError("its journal names a file that is to be deleted")
    finally:
        os.close(handle)


def _prepare(connection: apsw.Connection, wait_ms: int) -> None:
    connection.set_busy_timeout(wait_ms)
    # The file is not trusted: nothing in it is executed.
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", True)
    # Closing the last connection to a deleted database would delete the log of its successor, which has the
    # same name. The writer empties the log itself.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


@dataclass(slots=True)
class _Reader:
    file: Identity
    connection: apsw.Connection
    has_vectors: bool = False
    without_vectors: str = ""

    def need_vectors(self) -> None:
        if not self.has_vectors and not self.without_vectors:
            self.without_vectors = load_vectors(self.connection)
            self.has_vectors = not self.without_vectors


class Readers:
    """Connections for reading: each lent to one thread at a time, opened on demand, kept for the next.

    A connection to a file that no longer stands under its name is never lent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._idle: list[_Reader] = []

    @contextlib.contextmanager
    def borrow(self, *, vectors: bool = False) -> Iterator[tuple[apsw.Connection, str]]:
        """A connection, within one consistent view of the database.

        Yields:
            The connection, and why it lacks sqlite-vec (``""`` when it has it, or need not).

        Raises:
            Unavailable: There is no database.
            apsw.Error: It cannot be read.
        """
        reader = self._take()
        try:
            if vectors:
                reader.need_vectors()
            reader.connection.execute("BEGIN")
            yield reader.connection, reader.without_vectors if vectors else ""
            reader.connection.execute("COMMIT")
        except BaseException:
            reader.connection.close(True)
            raise
        self._give(reader)

    def close(self) -> None:
        """Close what is not lent."""
        with self._guard:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.connection.close(True)

    def _take(self) -> _Reader:
        now = identity(self._path)
        stale: list[_Reader] = []
        found: _Reader | None = None
        with self._guard:
            while self._idle and found is None:
                reader = self._idle.pop()
                if reader.file == now:
                    found = reader
                else:
                    stale.append(reader)
        for reader in stale:
            reader.connection.close(True)
        if now is None:
            raise Unavailable("missing", "there is no search index")
        # Should the file be replaced between these two lines, the connection is taken for one to the old
        # file and replaced at its next use.
        return found or _Reader(now, open_reader(self._path))

    def _give(self, reader: _Reader) -> None:
        with self._guard:
            if len(self._idle) < _IDLE_READERS:
                self._idle.append(reader)
                return
        reader.connection.close(True)
