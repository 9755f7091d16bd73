"""Locks of which nobody waits for one: whoever has it does the work. The system frees those of a program that
was killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.store.files import lock_place

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from engine.store.paths import Workspace


def take(workspace: Workspace, name: str) -> BaseFileLock | None:
    """A lock, taken, which any thread may release; ``None`` where somebody else has it.

    Raises:
        PathRefused, OSError: It is not a file of the workspace, or cannot be made.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 — 15 ms that most commands never need

    lock = FileLock(lock_place(workspace, name), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def is_taken(workspace: Workspace, name: str) -> bool:
    """Whether somebody has a lock; raises as ``take``."""
    if not workspace.root.joinpath(name).exists():
        return False
    lock = take(workspace, name)
    if lock is not None:
        lock.release()
    return lock is None
