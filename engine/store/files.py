"""All file writes: confined to the workspace, locked, synced and atomic (design 6).

Every write passes the fault points of ``engine.store.faults``. After a failure, either the old content is
intact or the new content is complete. A failed fsync is not retried, because a second fsync would report
success for data the kernel has already dropped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, DocumentError, PathRefused, ReadOnly, WriteFailed
from engine.store import descriptors, file_steps
from engine.store.faults import reach
from engine.store.paths import TEMP_PREFIX, Workspace, shown, split_relative
from engine.store.sparse import refuse_elsewhere
from engine.store.spelling import spelled

if TYPE_CHECKING:
    from filelock import FileLock

READ_LIMIT = 64 * 1024 * 1024
LOCK_NAME = "scratch/.lock"

_STALE_TEMP_S = 3600
_LOCK_POLL_S = 0.001
_ATTEMPTS = 4

_HINTS = {
    errno.ENOSPC: "free some disk space and try again",
    errno.EDQUOT: "free some of the disk quota and try again",
    errno.EFBIG: "raise the file size limit (ulimit -f) and try again",
    errno.EIO: "check the disk; nothing was confirmed as written",
}
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

_locks: dict[Path, FileLock] = {}
_locks_guard = threading.Lock()


class Files:
    """Reads and writes the files of one workspace.

    Args:
        read_only: Refuse every write with ``ReadOnly``.
    """

    def __init__(self, workspace: Workspace, *, read_only: bool = False) -> None:
        self.workspace = workspace
        self.read_only = read_only

    def read(self, relative: str, *, limit: int | None = READ_LIMIT) -> bytes:
        """The bytes of a regular file.

        Args:
            limit: Maximum size in bytes; ``None`` for no limit.

        Raises:
            FileNotFoundError: The file does not exist.
            PathRefused: The path leaves the workspace or is not a regular file.
            DocumentError: The file is larger than ``limit``, or cannot be read.
        """
        with self._reading(relative) as descriptor:
            return descriptors.read_all(descriptor, limit, relative)

    def find(self, relative: str, *, limit: int | None = READ_LIMIT) -> bytes | None:
        """As ``read``, but ``None`` if the file does not exist."""
        try:
            return self.read(relative, limit=limit)
        except FileNotFoundError:
            return None

    def read_blocks(self, relative: str) -> Generator[bytes, None, None]:
        """The bytes of a regular file in blocks of at most 1 MiB, read lazily.

        All blocks come from the same file even if it is replaced while reading; in-place writes by others
        are visible.

        Raises:
            FileNotFoundError, PathRefused, DocumentError: As for ``read``, when the first block is read.
        """
        with self._reading(relative) as descriptor:
            yield from descriptors.read_blocks(descriptor)

    def replace(self, relative: str, data: bytes | Iterable[bytes]) -> None:
        """Replace a file's content atomically: readers see the old or the new content, never a part.

        The file's mode is kept; missing folders are created. Large data can be passed in pieces, which are
        consumed one at a time under the workspace lock and may be read from the file itself. If producing
        them raises an error, the old content stays and nothing of the new content is left.

        Raises:
            PathRefused: The path leaves the workspace or is not a regular file.
            WriteFailed: The data did not reach the disk.
            ReadOnly: The workspace cannot be written.
        """
        with self._writing(relative), self._folder(self._parts(relative)) as (folder, name):
            file_steps.replace(folder, name, data, relative)

    def create(self, relative: str, data: bytes | Iterable[bytes]) -> bool:
        """Create a file atomically.

        Pieces are consumed as in ``replace``; none if the name is taken.

        Returns:
            ``False`` if the name is taken; nothing is changed then.

        Raises:
            PathRefused: The path leaves the workspace.
            WriteFailed: The data did not reach the disk.
            ReadOnly: The workspace cannot be written.
        """
        with self._writing(relative), self._folder(self._parts(relative)) as (folder, name):
            return file_steps.create(folder, name, data)

    def append(self, relative: str, data: bytes) -> None:
        """Append ``data`` to a file atomically, starting on a new line.

        A missing final line end is added first. If an editor replaces the file at the same time, the data is
        appended to the new one.

        Raises:
            PathRefused: The path leaves the workspace or is not a regular file.
            WriteFailed: The data did not reach the disk.
            ReadOnly: The workspace cannot be written.
        """
        if not data:
            return
        with self._writing(relative), self._folder(self._parts(relative)) as (folder, name):
            for _ in range(_ATTEMPTS):
                if file_steps.create(folder, name, data) or file_steps.append(folder, name, data, relative):
                    return
            raise _replaced_again(relative)

    def update(self, relative: str, change: Callable[[bytes | None], bytes | None]) -> bytes | None:
        """Read, change and replace a file as one step that no other engine can interrupt.

        A program that ignores our lock may save the file in between: this is checked right before the rename,
        and the change is then applied to the newly saved content. A file is deleted only if it is still the
        one that was read.

        Args:
            change: Maps the old content (``None`` if there is no file) to the new content (``None`` to
            delete the file). Called again if the file was saved in between.

        Returns:
            The file's content after the change.

        Raises:
            PathRefused, WriteFailed, ReadOnly, DocumentError: As for ``read`` and ``replace``.
        """
        with self._writing(relative):
            for _ in range(_ATTEMPTS):
                seen: os.stat_result | None = None
                old: bytes | None = None
                with contextlib.suppress(FileNotFoundError), self._reading(relative) as descriptor:
                    seen = os.fstat(descriptor)
                    old = descriptors.read_all(descriptor, READ_LIMIT, relative)
                new = change(old)
                if seen is None and new is None:
                    return None
                if new is not None and new == old:
                    return new
                with self._folder(self._parts(relative)) as (folder, name):
                    if new is None:
                        assert seen is not None
                        if file_steps.remove(folder, name, seen):
                            return None
                    elif file_steps.replace(
                        folder, name, new, relative, partial(file_steps.is_unchanged, seen)
                    ):
                        return new
            raise _replaced_again(relative)

    def move(self, source: str, target: str) -> None:
        """Rename a file or folder. Symlinks are moved, not followed.

        Raises:
            FileNotFoundError: ``source`` does not exist.
            PathRefused: A path leaves the workspace.
            WriteFailed: ``target`` exists, or the rename failed.
            ReadOnly: The workspace cannot be written.
        """
        with (
            self._writing(source),
            self._existing(source) as (source_folder, source_name),
            self._folder(self._entry(target)) as (target_folder, target_name),
        ):
            if descriptors.status(target_name, target_folder) is not None:
                raise WriteFailed(
                    "cannot take this name: it exists",
                    where=shown(target),
                    hint="choose another name or move the other file away",
                )
            reach("move:rename")
            os.rename(source_name, target_name, src_dir_fd=source_folder, dst_dir_fd=target_folder)
            reach("move:folder-fsync")
            os.fsync(target_folder)
            os.fsync(source_folder)

    def remove(self, relative: str) -> None:
        """Delete a file. A symlink is deleted, not followed.

        Raises:
            FileNotFoundError: The file does not exist.
            PathRefused: The path leaves the workspace or is a folder.
            WriteFailed: The file could not be deleted.
            ReadOnly: The workspace cannot be written.
        """
        with self._writing(relative), self._existing(relative) as (folder, name):
            found = descriptors.status(name, folder)
            if found is not None and stat.S_ISDIR(found.st_mode):
                raise PathRefused("is a folder", where=shown(relative))
            reach("remove:unlink")
            os.unlink(name, dir_fd=folder)
            reach("remove:folder-fsync")
            os.fsync(folder)

    @contextlib.contextmanager
    def lock(self, timeout: float = 30) -> Iterator[None]:
        """Hold the workspace lock: one writer at a time, across threads and processes.

        Reentrant within a thread.

        Args:
            timeout: Seconds to wait for another holder.

        Raises:
            WriteFailed: Another process held it longer than ``timeout``.
            ReadOnly: The workspace cannot be written.
        """
        self.refuse_read_only(LOCK_NAME)
        from filelock import Timeout  # noqa: PLC0415 — takes 15 ms, and readers never need it

        folder = self.workspace.scratch
        if folder.is_symlink():
            folder = self.workspace.resolve(folder.name)
        lock = _lock_at(folder / LOCK_NAME.rpartition("/")[2])
        if lock.is_locked:  # by this thread; counting that again would be a sixth of the work of a write
            yield
            return
        with reported(LOCK_NAME):
            reach("lock:acquire")
            _check_lock(self.workspace, folder, LOCK_NAME)
            try:
                lock.acquire(timeout=timeout, poll_interval=_LOCK_POLL_S)
            except Timeout as error:
                what = f"another program has held the workspace lock for {timeout:g} s"
                hint = "wait for it to finish, or stop it"
                raise WriteFailed(what, where=LOCK_NAME, hint=hint) from error
        try:
            yield
        finally:
            lock.release()

    def refuse_read_only(self, relative: str) -> None:
        """Raise ``ReadOnly`` if the workspace is read-only."""
        if self.read_only:
            raise ReadOnly("the workspace is read-only", where=shown(relative))

    def _parts(self, relative: str) -> tuple[str, ...]:
        real = self.workspace.resolve(relative)
        if real == self.workspace.root:
            raise PathRefused("is the workspace itself", where=shown(relative))
        return real.relative_to(self.workspace.root).parts

    def _entry(self, relative: str) -> tuple[str, ...]:
        *parents, name = spelled(self.workspace.root, split_relative(relative))
        if not parents:
            return (name,)
        return (*self._parts("/".join(parents)), name)

    @contextlib.contextmanager
    def _reading(self, relative: str) -> Iterator[int]:
        """The open descriptor of a file; system errors become the errors of ``read``."""
        *parents, name = self._parts(relative)
        try:
            with descriptors.open_folder(self.workspace.root, parents) as folder:
                descriptor = descriptors.open_file(name, folder, os.O_RDONLY, relative)
                try:
                    yield descriptor
                finally:
                    os.close(descriptor)
        except FileNotFoundError:
            raise
        except NotADirectoryError as error:
            raise _missing(relative) from error
        except OSError as error:
            what, hint = f"cannot be read ({error.strerror})", "check its permissions"
            raise DocumentError(what, where=shown(relative), hint=hint) from error

    @contextlib.contextmanager
    def _writing(self, relative: str) -> Iterator[None]:
        self.refuse_read_only(relative)
        split_relative(relative)
        with reported(relative), self.lock():
            yield

    @contextlib.contextmanager
    def _folder(self, parts: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """The open folder of a file to be written, created if missing, and the file's name in it."""
        refuse_elsewhere(self.workspace.root, parts)
        with descriptors.open_folder(self.workspace.root, parts[:-1], create=True) as folder:
            yield folder, parts[-1]

    @contextlib.contextmanager
    def _existing(self, relative: str) -> Iterator[tuple[int, str]]:
        """The open folder of an existing path, and its name in it."""
        *parents, name = self._entry(relative)
        refuse_elsewhere(self.workspace.root, (*parents, name))
        with contextlib.ExitStack() as stack:
            try:
                folder = stack.enter_context(descriptors.open_folder(self.workspace.root, parents))
            except (FileNotFoundError, NotADirectoryError) as error:
                raise _missing(relative) from error
            if descriptors.status(name, folder) is None:
                raise _missing(relative)
            yield folder, name


def sweep_temps(workspace: Workspace) -> int:
    """Remove temporary files left by killed processes more than an hour ago; returns their number."""
    removed = 0
    horizon = time.time() - _STALE_TEMP_S
    for folder, folders, names in os.walk(workspace.root):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(folder, name) for name in names if name.startswith(TEMP_PREFIX)):
            with contextlib.suppress(OSError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode) and found.st_mtime < horizon:
                    path.unlink()
                    removed += 1
    return removed


def lock_place(workspace: Workspace, relative: str) -> Path:
    """The path of a lock file, free of symlinks; its folder is created if missing.

    The code that opens it must not follow symlinks either, in case one appears later; filelock does not.

    Raises:
        PathRefused: It is not a regular file, or a symlink in its path leads out of the workspace.
        OSError: Its folder cannot be created.
    """
    *parents, name = split_relative(relative)
    folder = workspace.resolve("/".join(parents))
    _check_lock(workspace, folder, relative)
    return folder / name


def _check_lock(workspace: Workspace, folder: Path, relative: str) -> None:
    parts = folder.relative_to(workspace.root).parts
    with descriptors.open_folder(workspace.root, parts, create=True) as inside:
        descriptors.refuse_odd(relative.rpartition("/")[2], inside, relative)


def _replaced_again(relative: str) -> WriteFailed:
    return WriteFailed(
        "another program keeps replacing it",
        where=shown(relative),
        hint="close the editor that has it open and try again",
    )


def _missing(relative: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), relative)


def _lock_at(path: Path) -> FileLock:
    from filelock import FileLock  # noqa: PLC0415 — takes 15 ms, and readers never need it

    with _locks_guard:
        if path not in _locks:
            _locks[path] = FileLock(path)
        return _locks[path]


@contextlib.contextmanager
def reported(relative: str) -> Iterator[None]:
    """Turn system errors of a write into errors with actionable hints."""
    try:
        yield
    except AutopoiesisError:
        raise
    except FileNotFoundError as error:
        if error.filename == relative:
            raise
        raise WriteFailed("its folder disappeared", where=shown(relative), hint="try again") from error
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _READ_ONLY:
            hint = "check the permissions of its folder"
            raise ReadOnly(f"cannot be written ({reason})", where=shown(relative), hint=hint) from error
        hint = _HINTS.get(error.errno or 0, "the old content is intact")
        raise WriteFailed(f"was not written ({reason})", where=shown(relative), hint=hint) from error
