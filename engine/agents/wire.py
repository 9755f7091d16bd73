"""The protocol between a hook and the program that has the workspace open: socket path and messages.

Only modules that are cheap to import are used here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

SECONDS = 5.0
"""Maximum time for a hook from the start of its process, after which the agent continues in any case."""

MAX_BYTES = 16 * 1024 * 1024
"""Maximum size of an event; more is not read."""

GREETING = b"autopoiesis-hook 2 "
"""Followed by the agent, a space, the milliseconds left for the answer, a line break and the event."""

HERE = b"here\n"
"""Sent at once by a program that listens: one that was stopped accepts connections as well."""

DONE = b"ok\n"
"""Followed by the output of the hook."""

LEAVE = b"autopoiesis-hook 1 leave"
"""Sent by a program that wants to listen itself."""

STARTING = ".starting"
"""Follows the socket's path in the name of the lock of the one hook that loads the engine."""

_OTHER_USERS = 0o077


def socket_path(workspace: str) -> str:
    """The socket of a workspace, unique to the folder and the same for every path to it.

    It is in a folder that only the person can access: anybody else listening there would read every message.

    Raises:
        OSError: There is no such folder.
    """
    status = os.stat(workspace)  # noqa: PTH116
    return f"{socket_folder()}/{status.st_dev:x}-{status.st_ino:x}"


def socket_folder() -> str:
    """The folder of the sockets; its path is short, because the length of a socket's path is limited."""
    return f"/tmp/autopoiesis-{os.geteuid()}"


def make_socket_folder() -> None:
    """Make the folder of the sockets.

    Raises:
        PermissionError: Others have access to it.
    """
    folder = socket_folder()
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        if not is_private(folder):
            raise PermissionError(f"other users can access {folder}") from None


def is_private(folder: str) -> bool:
    """Whether a folder belongs to the person and nobody else has any access to it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OTHER_USERS
    )


class Lock:
    """A lock file that this process holds until it is closed, or this process and its children have ended."""

    def __init__(self, path: str, handle: int) -> None:
        self._path, self._handle = path, handle

    def close(self) -> None:
        """Release it, in children as well."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108
        self.leave()

    def leave(self) -> None:
        """Leave it to a child."""
        os.close(self._handle)


def take_lock(path: str) -> Lock | None:
    """The lock with that path; ``None`` if another process holds it or has just released it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.stat(path).st_ino == os.fstat(handle).st_ino:  # noqa: PTH116
            os.utime(handle)
            return Lock(path, handle)
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(handle)
    return None


def detach() -> None:
    """Detach this process from the agent: new process session, no terminal."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
