"""The user's settings, cache and data folders, shared by all workspaces, and files only the user may write.

Nothing in a workspace is trusted as the user's own, since it may come from a stranger. The user's decisions,
and keys that authenticate our own files, are stored here.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from engine.store import descriptors
from engine.store.faults import reach

_NAME = "autopoiesis"
_KEY_FILE = "key"
_KEY_BYTES = 32
_OTHERS_READ = 0o077
_OTHERS_WRITE = 0o022


def settings_folder() -> Path:
    """The settings folder (``$XDG_CONFIG_HOME/autopoiesis``); it need not exist."""
    return _folder("config", ".config")


def cache_folder() -> Path:
    """The cache folder (``$XDG_CACHE_HOME/autopoiesis``); it need not exist."""
    return _folder("cache", ".cache")


def data_folder() -> Path:
    """The data folder (``$XDG_DATA_HOME/autopoiesis``); it need not exist."""
    return _folder("data", ".local/share")


def _folder(kind: str, place: str) -> Path:
    if sys.platform != "linux":
        import platformdirs  # noqa: PLC0415 — takes 4 ms

        found: Path = getattr(platformdirs, f"user_{kind}_path")(_NAME, appauthor=False)
        return found
    # Same as platformdirs, without its import time on every traced message; relative folders are ignored
    # because they would depend on the current folder.
    base = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / place) / _NAME  # noqa: PTH117


def read_own(path: Path, *, secret: bool = False) -> bytes | None:
    """Read a file of the user's; ``None`` if it does not exist.

    Args:
        secret: Whether others must not read it either.

    Raises:
        PermissionError: It is not a regular file, not owned by the user, or others may write (or read) it.
        OSError: It cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        others = stat.S_IMODE(status.st_mode) & (_OTHERS_READ if secret else _OTHERS_WRITE)
        if not stat.S_ISREG(status.st_mode) or others or status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(f"others can {'read' if secret else 'write'} it")
        return file.read()


def write_own(path: Path, data: bytes) -> None:
    """Atomically replace a file of the user's, readable only by the user.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with descriptors.open_folder(path.parent, ()) as folder:
        with descriptors.temporary(folder, path.name, data, None, mode=0o600) as temp:
            reach("replace:rename")
            os.rename(temp, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        reach("replace:folder-fsync")
        os.fsync(folder)


def own_key(*, make: bool = False) -> bytes | None:
    """The key with which the user's programs authenticate their own files; ``None`` if there is none.

    Args:
        make: Create the key if it is missing and can be stored.
    """
    path = settings_folder() / _KEY_FILE
    try:
        known = read_own(path, secret=True)
        if make and (known is None or len(known) != _KEY_BYTES):
            write_own(path, os.urandom(_KEY_BYTES))
            # If two processes create it at once, both use the one that was kept.
            known = read_own(path, secret=True)
    except OSError:
        return None
    return known if known is not None and len(known) == _KEY_BYTES else None
