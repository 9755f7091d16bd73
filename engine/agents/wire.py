"""How a hook reaches the program that has the workspace open: where it listens, and what is said first.

Only modules that cost next to nothing are imported here.
"""

from __future__ import annotations

import os
import stat

SECONDS = 5.0
"""After which an agent that waits is let go, whatever has come by then."""

MOST_BYTES = 16 * 1024 * 1024
"""Of what an agent says; more is not read."""

GREETING = b"autopoiesis-hook 1 "
DONE = b"ok\n"
LEAVE = GREETING + b"leave"
"""Said by a program that wants to listen itself."""

_OTHERS = 0o077


def address_of(workspace: str) -> str:
    """Where a workspace is answered for: the same for every name of the folder, and for no other folder.

    It lies where only the person can, because others who listened there would read every message.

    Raises:
        OSError: There is no such folder.
    """
    there = os.stat(workspace)  # noqa: PTH116
    return f"{socket_folder()}/{there.st_dev:x}-{there.st_ino:x}"


def socket_folder() -> str:
    """The folder of sockets: short, because a socket's name must be."""
    return f"/tmp/autopoiesis-{os.geteuid()}"


def is_own(folder: str) -> bool:
    """Whether a folder is the person's, and nobody else can do anything in it."""
    try:
        there = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(there.st_mode) and there.st_uid == os.geteuid() and not there.st_mode & _OTHERS
