"""Opens memory.db: one writer, many readers, and a file that may vanish at any moment (spec 7.2)."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import stat
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

import apsw

from engine.errors import AutopoiesisError, IndexBusy, IndexFailed, ReadOnly
from engine.search.reports import Unavailable
from engine.startup.lazy import expression
from engine.startup.records import dataclass

_MOUNTS = Path("/proc/self/mountinfo")
_SHARED = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "fhgfs", "gfs2", "glusterfs", "gpfs",
    "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb2",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
}  # fmt: skip
_OCTAL = expression(r"\\([0-7]{3})")


def is_shared(folder: Path, mounts: str | None = None) -> bool:
    """Whether the folder may be shared with another machine or guest.

    The write-ahead log keeps its index in memory mapped by all processes, and machines do not share memory.
    Unknown file systems count as local: SQLite itself refuses the log if mapping fails.

    Args:
        folder: An absolute path without symlinks.
        mounts: A mount table in the format of ``/proc/self/mountinfo``; by default that of this process.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
        except OSError:
            return False
    kind = _kind_at(folder, mounts)
    return kind in _SHARED or kind.startswith("fuse.")


@lru_cache(maxsize=8)
def _kind_at(folder: Path, mounts: str) -> str:
    """The type of file system a folder is on; cached, because every saved file refreshes the index."""
    kind, depth = "", -1
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4]))
        # Of two mounts on one mount point, the later hides the earlier.
        if len(point.parts) >= depth and (point == folder or point in folder.parents):
            kind, depth = right.split(" ", 1)[0], len(point.parts)
    return kind


READ_WAIT_MS = 500
WRITE_WAIT_S = 15.0
_READ_CACHE_KB = 32_000
_WRITE_CACHE_KB = 32_000
_LOG_BYTES = 16 * 1024 * 1024
_IDLE_READERS = 4
_VECTOR_PACKAGE = "sqlite_vec"
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The end of a rollback journal that names a super-journal, a file to delete after the rollback."""

FAULTS = (apsw.Error, OSError, UnicodeError, ValueError, OverflowError, MemoryError)
"""Everything that using a damaged or inaccessible database file can raise."""

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
"""Device and inode: the file a connection has open, whatever file has its name now."""


def is_damage(error: BaseException) -> bool:
    """Whether an error in ``FAULTS`` is about the file's content, not the disk, a lock or permissions."""
    return not isinstance(error, _ENVIRONMENT)


def user_error(error: BaseException, path: Path) -> AutopoiesisError:
    """Turn an error in ``FAULTS`` into one that the user can act on."""
    where = path.name
    if isinstance(error, apsw.FullError):
        return IndexFailed("the disk is full", where=where, hint="free some disk space and index again")
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return ReadOnly(
            "the search index cannot be written", where=where, hint="check the permissions of its folder"
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return IndexBusy(
            "another program is writing to it", where=where, hint="try again when it has finished"
        )
    hint = "check the disk" if not is_damage(error) else "run: autopoiesis index --rebuild"
    return IndexFailed(f"the search index failed ({error})", where=where, hint=hint)


def vector_library() -> tuple[str, str]:
    """Locate sqlite-vec's shared library without importing its package (which imports numpy).

    Returns:
        Its path without suffix and ``""``; or ``""`` and the reason it is unavailable, in one clause.
    """
    found = importlib.util.find_spec(_VECTOR_PACKAGE)
    if found is None or not found.submodule_search_locations:
        return "", "the package sqlite-vec is not installed"
    return str(Path(found.submodule_search_locations[0]) / "vec0"), ""


def load_vectors(connection: apsw.Connection) -> str:
    """Load sqlite-vec into a connection.

    Returns:
        ``""``, or why it cannot be loaded, in one clause.
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
    """The file that has this name now (a symlink is not followed); ``None`` if there is none."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def file_problem(path: Path) -> str:
    """Why the file at this path must not be opened as a database, in one clause; empty if it may be.

    SQLite creates missing files and does not follow a link in the last part of a path, but it accepts links
    in the other parts, and files that are not regular.
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
    """Delete the database and its journals. Of a symlink, only the link is deleted.

    Processes that have it open keep using the deleted file until they next check the path.

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


def open_writer(path: Path, wait_s: float = WRITE_WAIT_S) -> apsw.Connection:
    """Open a connection that may write. A missing file is made, for its owner alone, and not yet changed.

    Args:
        wait_s: Seconds that a statement waits for another program's.

    Raises:
        IndexFailed: The file or one of its journals is a symlink or not a regular file.
        apsw.Error: The file cannot be opened, or is not a database.
    """
    if problem := file_problem(path):
        raise IndexFailed(
            problem, where=path.name, hint="see: autopoiesis doctor, or run: autopoiesis index --rebuild"
        )
    _refuse_foreign_journal(path)
    with contextlib.suppress(
        OSError
    ):  # SQLite makes a file that all may read; its journals get these rights too
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
    )
    try:
        _prepare(connection, round(wait_s * 1000))
        connection.pragma("cache_size", -_WRITE_CACHE_KB)
    except FAULTS:
        connection.close()
        raise
    return connection


def set_journal(connection: apsw.Connection, folder: Path) -> None:
    """Use the write-ahead log, so that readers and the writer do not wait for each other.

    Not on a network file system, because the log's index is in shared memory, which machines do not share.

    Raises:
        apsw.Error: The database is damaged or cannot be written.
    """
    wanted = "delete" if is_shared(folder) else "wal"
    if connection.pragma("journal_mode") != wanted:
        with contextlib.suppress(apsw.BusyError):  # a reader is active; the next writer will change it
            connection.pragma("journal_mode", wanted)
    # After a power cut, a cache may lose its last commits as long as it stays consistent.
    connection.pragma("synchronous", "normal")
    connection.pragma("journal_size_limit", _LOG_BYTES)


def open_reader(path: Path) -> apsw.Connection:
    """Open a read-only connection.

    Raises:
        Unavailable: The file is missing; it or one of its journals is a symlink or not a regular file; or a
            program that was killed left a change in it half done, which only a writer can take back.
        apsw.Error: The file cannot be opened, or is not a database.
    """
    if problem := file_problem(path):
        raise Unavailable("broken", problem)
    if identity(path) is None:
        raise Unavailable("missing", "there is no search index")
    _refuse_foreign_journal(path)
    try:
        return _opened_for_reading(str(path))
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        if getattr(error, "extendedresult", 0) == apsw.SQLITE_READONLY_ROLLBACK:
            raise Unavailable("broken", "a change in the search index was left half done") from error
    # A reader of a write-ahead log has to write to its lock table. If that is not permitted, the last resort
    # is to open the file as immutable.
    return _opened_for_reading(f"file:{quote(str(path))}?immutable=1", apsw.SQLITE_OPEN_URI)


def _opened_for_reading(name: str, flags: int = 0) -> apsw.Connection:
    connection = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW | flags)
    try:
        _prepare(connection, READ_WAIT_MS)
        connection.pragma("query_only", True)
        connection.pragma("cache_size", -_READ_CACHE_KB)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except FAULTS:
        connection.close()
        raise
    return connection


def _refuse_foreign_journal(path: Path) -> None:
    """Check a journal before SQLite rolls it back. Our own journals never name a super-journal.

    Raises:
        apsw.CorruptError: The journal names one.
    """
    try:
        handle = os.open(f"{path}-journal", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        end = os.fstat(handle).st_size - len(_MAGIC)
        if end > 0 and os.pread(handle, len(_MAGIC), end) == _MAGIC:
            raise apsw.CorruptError("its journal names another file to delete")
    finally:
        os.close(handle)


def _prepare(connection: apsw.Connection, wait_ms: int) -> None:
    connection.set_busy_timeout(wait_ms)
    # The file is not trusted: no code in its schema may run.
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.pragma("cell_size_check", True)
    # Closing the last connection to a deleted database would delete the log of its replacement, which has the
    # same name. The writer truncates the log itself.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


@dataclass(slots=True)
class _Reader:
    file: Identity
    connection: apsw.Connection
    without_vectors: str  # why it lacks sqlite-vec; empty if it is loaded


class Readers:
    """A pool of read connections, each lent to one thread at a time and opened on demand.

    A connection to a file that has been replaced or deleted is never lent.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: deque[_Reader] = deque()

    @contextlib.contextmanager
    def borrow(self) -> Iterator[tuple[apsw.Connection, str]]:
        """Lend a connection, in a transaction for a consistent view of the database.

        Yields:
            The connection, and why it lacks sqlite-vec (``""`` if it is loaded).

        Raises:
            Unavailable: There is no database.
            apsw.Error: It cannot be read.
        """
        reader = self._taken()
        try:
            reader.connection.execute("BEGIN")
            yield reader.connection, reader.without_vectors
            reader.connection.execute("COMMIT")
        except BaseException:
            reader.connection.close(True)
            raise
        if len(self._idle) < _IDLE_READERS:
            self._idle.append(reader)
        else:
            reader.connection.close(True)

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().connection.close(True)

    def _taken(self) -> _Reader:
        now = identity(self._path)
        with contextlib.suppress(IndexError):
            while (reader := self._idle.pop()).file != now:
                reader.connection.close(True)
            return reader
        if now is None:
            raise Unavailable("missing", "there is no search index")
        # If the file is replaced between these two lines, the connection counts as one to the old file and
        # is replaced at its next use.
        connection = open_reader(self._path)
        return _Reader(now, connection, load_vectors(connection))
