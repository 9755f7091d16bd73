"""The protocol between a hook and the program that has the workspace open: socket path and messages.

Only modules that are cheap to import are used here.
"""

from __future__ import annotations

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


def is_private(folder: str) -> bool:
    """Whether a folder belongs to the person and nobody else has any access to it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OTHER_USERS
    )
