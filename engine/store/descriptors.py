"""Opens folders and files by descriptor, so that the file checked is the file used.

A path checked first and opened later can be swapped for a symlink in between. So folders are opened component
by component from the workspace root, refusing symlinks, and all operations are relative to the open folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from engine.errors import DocumentError, PathRefused
from engine.store.faults import reach
from engine.store.paths import TEMP_PREFIX, shown

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MODE = 0o666
_PIECE = 64 * 1024 * 1024
_BLOCK = 1024 * 1024


@contextlib.contextmanager
def open_folder(root: Path, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
    """The descriptor of a folder below ``root``; with ``create``, missing folders are created and fsynced.

    Raises:
        FileNotFoundError: A component is missing, or is not a folder.
        OSError: As the system reports it; a symlink among the components is ``ENOTDIR`` or ``ELOOP``.
    """
    descriptor = os.open(root, _FOLDER_FLAGS & ~os.O_NOFOLLOW)
    try:
        for part in parts:
            try:
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
            except FileNotFoundError:
                if not create:
                    raise
                _make_folder(part, descriptor)
                inner = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _make_folder(name: str, parent: int) -> None:
    reach("folder:create")
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    reach("folder:fsync")
    os.fsync(parent)


def open_file(name: str, folder: int, flags: int, place: str) -> int:
    """Open a regular file in an open folder; never blocks, never follows a symlink.

    Raises:
        PathRefused: It is a symlink, a folder, a pipe, a device or a socket.
        OSError: As the system reports it.
    """
    try:
        descriptor = os.open(name, flags | _FILE_FLAGS, 0o666, dir_fd=folder)
    except OSError:
        found = status(name, folder)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise PathRefused("is not a regular file", where=shown(place)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PathRefused("is not a regular file", where=shown(place))
    return descriptor


def refuse_odd(name: str, folder: int, place: str) -> None:
    """Check a file that a library will open by path.

    Raises:
        PathRefused: It exists and is a symlink, folder, pipe, device or socket.
    """
    found = status(name, folder)
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise PathRefused(
            "is not a regular file", where=shown(place), hint="check where it leads, then remove it"
        )


def status(name: str, folder: int) -> os.stat_result | None:
    """``lstat`` of a name in an open folder; ``None`` if it does not exist."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def read_all(descriptor: int, limit: int | None, place: str) -> bytes:
    """Everything in an open file.

    Raises:
        DocumentError: It is larger than ``limit`` bytes.
    """
    size = os.fstat(descriptor).st_size
    chunks: list[bytes] = []
    total = 0
    while limit is None or total <= limit:
        # Read in few pieces, since joining many takes as long as reading them.
        chunk = os.read(descriptor, min(max(size - total, 0) + 1, _PIECE))
        if not chunk:
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        chunks.append(chunk)
        total += len(chunk)
    raise DocumentError(
        f"is larger than {limit} bytes", where=shown(place), hint="split it, or move it out of the workspace"
    )


def read_blocks(descriptor: int) -> Iterator[bytes]:
    """The rest of an open file from its current position, in blocks of at most 1 MiB."""
    while block := os.read(descriptor, _BLOCK):
        yield block


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, continuing after short writes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def temporary(
    folder: int,
    name: str,
    data: bytes | Iterable[bytes],
    like: os.stat_result | None,
    *,
    mode: int = _MODE,
) -> Iterator[str]:
    """A synced temporary file in an open folder; removed on exit unless renamed.

    It is created with the mode of ``like``, or else with ``mode`` subject to the umask. Pieces of ``data``
    are consumed one at a time, each after the previous one is written.
    """
    temp, descriptor = _make_temporary(folder, name, mode)
    try:
        try:
            if like is not None:
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            for piece in (data,) if isinstance(data, bytes) else data:
                reach("temp:write")
                write_all(descriptor, piece)
            reach("temp:fsync")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temp
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp, dir_fd=folder)


def nameless(folder: int, name: str) -> int:
    """An unlinked file for reading and writing, which disappears with its descriptor.

    Args:
        folder: An open folder; determines the disk used.
        name: Base of the temporary name, visible only if the process dies before unlinking it.
    """
    temp, descriptor = _make_temporary(folder, name)
    try:
        os.unlink(temp, dir_fd=folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make_temporary(folder: int, name: str, mode: int = _MODE) -> tuple[str, int]:
    reach("temp:create")
    temp = f"{TEMP_PREFIX}{os.urandom(6).hex()}-{os.fsencode(name)[:64].decode('ascii', 'replace')}"
    temp = temp.replace("\ufffd", "_")
    return temp, os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FILE_FLAGS, mode, dir_fd=folder)
