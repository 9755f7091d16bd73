"""Lock files: held by one thread of one process at a time, and by that thread as often as it likes.

It is the lock that filelock takes (``flock``), so that the two exclude one another. Importing filelock takes
a twentieth of a hook's time, and only a file system that knows no ``flock`` needs it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MODE = 0o644
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)


class Lock:
    """A lock on a file, which is made where there is none and never removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held = _Held()
        self._instead: FileLock | None = None

    @property
    def is_locked(self) -> bool:
        """Whether this thread holds it."""
        if self._instead is not None:
            return self._instead.is_locked
        return self._held.times > 0 and self._held.process == os.getpid()

    def acquire(self, timeout: float, poll_interval: float) -> bool:
        """Takes it, or waits until nobody else has it; whether this thread has it then.

        Args:
            timeout: Seconds to wait.
            poll_interval: Seconds between two attempts.

        Raises:
            OSError: The file cannot be opened or locked.
        """
        until = time.monotonic() + timeout
        while self._instead is None:
            try:
                if self.is_locked or self._taken():
                    self._held.times += 1
                    return True
            except OSError as error:
                if error.errno != errno.ENOSYS:
                    raise
                from filelock import FileLock  # noqa: PLC0415 — hardly ever

                self._instead = FileLock(self._path)
                break
            if time.monotonic() >= until:
                return False
            time.sleep(poll_interval)
        from filelock import Timeout  # noqa: PLC0415 — as above

        try:
            self._instead.acquire(timeout=max(0.0, until - time.monotonic()), poll_interval=poll_interval)
        except Timeout:
            return False
        return True

    def release(self) -> None:
        """Gives it back, once for each time that it was taken."""
        if self._instead is not None:
            self._instead.release()
            return
        self._held.times -= 1
        if not self._held.times:
            # Closing the file is what ends the lock.
            os.close(self._held.file)

    def _taken(self) -> bool:
        file = os.open(self._path, _FLAGS, _MODE)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(file).st_nlink:  # a file that was removed meanwhile guards nothing
                os.close(file)
                return False
            self._held.file, self._held.process, self._held.times = file, os.getpid(), 0
        except BaseException as error:
            os.close(file)
            if isinstance(error, OSError) and error.errno in _BUSY:
                return False
            raise
        return True


class _Held(threading.local):
    """What one thread holds."""

    times = 0
    file = -1
    process = 0  # a process that was forked off holds nothing


_locks: dict[Path, Lock] = {}
_guard = threading.Lock()


def lock_at(path: Path) -> Lock:
    """The lock on a file: one for the whole process, so that a thread may take it again anywhere."""
    with _guard:
        return _locks.setdefault(path, Lock(path))
