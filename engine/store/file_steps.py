"""Atomic file operations in an open folder; ``Files`` adds locking and confinement."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable

from engine.errors import PathRefused
from engine.store import descriptors
from engine.store.faults import reach
from engine.store.paths import TEMP_PREFIX, shown


def replace(
    folder: int,
    name: str,
    data: bytes | Iterable[bytes],
    relative: str,
    expected: Callable[[os.stat_result | None], bool] = lambda _: True,
    like: os.stat_result | None = None,
) -> bool:
    """Replace a file's content; ``False`` if the file is not the expected one.

    An existing file keeps its mode; a new one gets that of ``like``.
    """
    old = descriptors.status(name, folder)
    if old is not None and not stat.S_ISREG(old.st_mode):
        raise PathRefused("is not a regular file", where=shown(relative))
    with descriptors.temporary(folder, name, data, old or like) as temp:
        reach("replace:rename")
        if not expected(descriptors.status(name, folder)):
            return False
        os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    reach("replace:folder-fsync")
    os.fsync(folder)
    return True


def remove(folder: int, name: str, seen: os.stat_result) -> bool:
    """Delete the file that was seen; ``False`` if another file has replaced it, which is kept."""
    reach("remove:unlink")
    if not is_unchanged(seen, descriptors.status(name, folder)):
        return False
    # Rename it first, so that a file another program puts in place from now on is never touched.
    aside = f"{TEMP_PREFIX}{os.urandom(8).hex()}"
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        return False
    is_seen = is_unchanged(seen, descriptors.status(aside, folder))
    if not is_seen and descriptors.status(name, folder) is None:
        os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(aside, dir_fd=folder)
    reach("remove:folder-fsync")
    os.fsync(folder)
    return is_seen


def create(folder: int, name: str, data: bytes | Iterable[bytes]) -> bool:
    """Create a file; ``False`` if the name is taken."""
    if descriptors.status(name, folder) is not None:
        return False
    with descriptors.temporary(folder, name, data, None) as temp:
        reach("create:link")
        try:
            os.link(temp, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
            # No hard links on this file system; the workspace lock keeps other engines out in the meantime.
            os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    reach("create:folder-fsync")
    os.fsync(folder)
    return True


def append(folder: int, name: str, data: bytes, relative: str) -> bool:
    """Append to an existing file; ``False`` if another file has replaced it."""
    reach("append:open")
    try:
        descriptor = descriptors.open_file(name, folder, os.O_RDWR | os.O_APPEND, relative)
    except FileNotFoundError:
        return False
    try:
        before = os.fstat(descriptor).st_size
        if before and os.pread(descriptor, 1, before - 1) != b"\n":
            data = b"\n" + data
        try:
            reach("append:write")
            descriptors.write_all(descriptor, data)
            reach("append:fsync")
            os.fsync(descriptor)
        except BaseException:
            # A program that ignores our lock may have appended more; do not truncate its bytes.
            if os.fstat(descriptor).st_size <= before + len(data):
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, before)
            raise
        return _is_same(os.fstat(descriptor), descriptors.status(name, folder))
    finally:
        os.close(descriptor)


def is_unchanged(mine: os.stat_result | None, found: os.stat_result | None) -> bool:
    """Whether a file is still the one seen before, unmodified; ``None`` means no file."""
    if mine is None or found is None:
        return mine is found
    return _is_same(mine, found) and (mine.st_size, mine.st_mtime_ns) == (found.st_size, found.st_mtime_ns)


def _is_same(mine: os.stat_result, found: os.stat_result | None) -> bool:
    return found is not None and (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
