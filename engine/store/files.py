"""The one way bytes reach the disk: confined, locked, synced, and whole or not at all (design 6).

Every write passes the fault points of ``engine.store.faults``. After a failure the old content is intact or
the new content is complete; a failed fsync ends the attempt, because a second fsync would report success for
data the kernel has already dropped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from pathlib import Path

from engine.errors import AutopoiesisError, DocumentError, PathRefused, ReadOnly, WriteFailed
from engine.store import descriptors, file_steps
from engine.store.faults import reach
from engine.store.locks import lock_at
from engine.store.paths import INDEX_PREFIX, TEMP_PREFIX, Workspace, shown, split_relative
from engine.store.sparse import refuse_elsewhere

READ_LIMIT = 64 * 1024 * 1024
LOCK_NAME = "scratch/.lock"

_STALE_TEMP_S = 3600
_LOCK_POLL_S = 0.001
_ATTEMPTS = 4

_CURES = {
    errno.ENOSPC: "free some disk space and try again",
    errno.EDQUOT: "free some of the disk quota and try again",
    errno.EFBIG: "raise the file size limit (ulimit -f) and try again",
    errno.EIO: "check the disk; nothing was confirmed as written",
}
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


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
            limit: The most bytes accepted; ``None`` for any number.

        Raises:
            FileNotFoundError: There is no such file.
            PathRefused: The path leaves the workspace or is not a regular file.
            DocumentError: The file is larger than ``limit``, or cannot be read.
        """
        with self._reading(relative) as descriptor:
            return descriptors.read_all(descriptor, limit, relative)

    def read_blocks(self, relative: str) -> Generator[bytes, None, None]:
        """The bytes of a regular file in blocks of at most 1 MiB, each read when it is asked for.

        The blocks are those of one file, even when another is put in its place meanwhile; a program that
        writes into it shows.

        Raises:
            FileNotFoundError, PathRefused, DocumentError: As ``read``, once the first block is asked for.
        """
        with self._reading(relative) as descriptor:
            yield from descriptors.read_blocks(descriptor)

    def replace(self, relative: str, data: bytes | Iterable[bytes]) -> None:
        """Make a file hold exactly ``data``: readers see the old content or the new, never a part.

        The file's mode is kept; missing folders are made. What does not fit in memory is given in pieces:
        they are taken one at a time, under the workspace's lock, and may be read from the file itself. An
        error raised while they are made leaves the old content, and no trace of the new.

        Raises:
            PathRefused: The path leaves the workspace or is not a regular file.
            WriteFailed: The data did not reach the disk.
            ReadOnly: The workspace cannot be written.
        """
        with self._writing(relative), self._folder(self._parts(relative)) as (folder, name):
            file_steps.replace(folder, name, data, relative)

    def create(self, relative: str, data: bytes | Iterable[bytes]) -> bool:
        """Make a new file, complete from the first moment it can be seen.

        Pieces are taken as by ``replace``; none is asked for when the name is taken already.

        Returns:
            ``False`` when the name is taken; nothing is changed then.

        Raises:
            PathRefused: The path leaves the workspace.
            WriteFailed: The data did not reach the disk.
            ReadOnly: The workspace cannot be written.
        """
        with self._writing(relative), self._folder(self._parts(relative)) as (folder, name):
            return file_steps.create(folder, name, data)

    def append(self, relative: str, data: bytes) -> None:
        """Add ``data`` at the end of a file, all of it or nothing; on a line of its own.

        A file whose last line is unfinished gets its line end first. If an editor puts another file in place
        meanwhile, the data is added to that one.

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
        """Read, change and replace a file as one step no other engine can come between.

        A program that does not know our lock may save the file meanwhile: that is looked for right before
        the rename, and what it saved is read and changed instead. A file is deleted only if it is the one
        that was read, whenever another was put in its place.

        Args:
            change: Given the content (``None`` when there is no file), gives the new content (``None`` for
                no file). It is asked again when the file was saved meanwhile.

        Returns:
            What the file holds now.

        Raises:
            PathRefused, WriteFailed, ReadOnly, DocumentError: As ``read`` and ``replace``.
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
            FileNotFoundError: There is no ``source``.
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
            FileNotFoundError: There is no such file.
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
        """Hold the workspace's lock: one writer at a time, across threads and processes.

        The thread that holds it may take it again.

        Args:
            timeout: Seconds to wait for another holder.

        Raises:
            WriteFailed: Another process kept it longer than ``timeout``.
            ReadOnly: The workspace cannot be written.
        """
        self.refuse_read_only(LOCK_NAME)
        folder = self.workspace.scratch
        if folder.is_symlink():
            folder = self.workspace.resolve(folder.name)
        lock = lock_at(folder / LOCK_NAME.rpartition("/")[2])
        with reported(LOCK_NAME):
            if not lock.is_locked:
                reach("lock:acquire")
                _check_lock(self.workspace, folder, LOCK_NAME)
            if not lock.acquire(timeout, _LOCK_POLL_S):
                raise WriteFailed(
                    f"another program has held the workspace's lock for {timeout:g} s",
                    where=LOCK_NAME,
                    hint="wait for it to finish, or end it",
                )
        try:
            yield
        finally:
            lock.release()

    def refuse_read_only(self, relative: str) -> None:
        """Raise ``ReadOnly`` where nothing may be written."""
        if self.read_only:
            raise ReadOnly("the workspace is open for reading only", where=shown(relative))

    def _parts(self, relative: str) -> tuple[str, ...]:
        real = self.workspace.resolve(relative)
        if real == self.workspace.root:
            raise PathRefused("is the workspace itself", where=shown(relative))
        return real.relative_to(self.workspace.root).parts

    def _entry(self, relative: str) -> tuple[str, ...]:
        *parents, name = split_relative(relative)
        if not parents:
            return (name,)
        return (*self._parts("/".join(parents)), name)

    @contextlib.contextmanager
    def _reading(self, relative: str) -> Iterator[int]:
        """The open descriptor of a file, with what the system says about it as the errors of ``read``."""
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
        """The open folder of a file to be written, made if it is missing, and the file's name in it."""
        refuse_elsewhere(self.workspace.root, parts)
        with descriptors.open_folder(self.workspace.root, parts[:-1], create=True) as folder:
            yield folder, parts[-1]

    @contextlib.contextmanager
    def _existing(self, relative: str) -> Iterator[tuple[int, str]]:
        """The open folder of something that exists, and its name in it."""
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
    """Remove temporary files that a killed process left more than an hour ago; gives how many there were."""
    removed = 0
    horizon = time.time() - _STALE_TEMP_S
    for folder, folders, names in os.walk(workspace.root):
        in_git = ".git" in folders
        folders[:] = [name for name in folders if name != ".git"]
        left = [Path(folder, name) for name in names if name.startswith(TEMP_PREFIX)]
        if in_git:
            left += Path(folder, ".git").glob(f"{INDEX_PREFIX}*")
        for path in left:
            with contextlib.suppress(OSError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode) and found.st_mtime < horizon:
                    path.unlink()
                    removed += 1
    return removed


def lock_place(workspace: Workspace, relative: str) -> Path:
    """The path of a lock file, free of symlinks; its folder is made if it is missing.

    What opens it must follow no symlink either, should one be put there meanwhile.

    Raises:
        PathRefused: It is not a regular file, or a symlink on the way leads out of the workspace.
        OSError: Its folder cannot be made.
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
        "is being replaced again and again by another program",
        where=shown(relative),
        hint="close the editor that holds it and try again",
    )


def _missing(relative: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), relative)


@contextlib.contextmanager
def reported(relative: str) -> Iterator[None]:
    """Turn what the system says about a write into what a person can act on."""
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
        hint = _CURES.get(error.errno or 0, "the old content is intact")
        raise WriteFailed(f"was not written ({reason})", where=shown(relative), hint=hint) from error
