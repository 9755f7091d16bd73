"""Non-blocking locks: the process that has one does the work. A killed process releases its locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.store.files import lock_place

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from engine.store.paths import Workspace


def take(workspace: Workspace, name: str) -> BaseFileLock | None:
    """Acquires a lock that any thread may release; ``None`` if it is held elsewhere.

    Raises:
        PathRefused, OSError: It is outside the workspace or cannot be created.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 — 15 ms; not needed by most commands

    lock = FileLock(lock_place(workspace, name), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def is_taken(workspace: Workspace, name: str) -> bool:
    """True if a lock is held; raises as ``take``."""
    if not workspace.root.joinpath(name).exists():
        return False
    lock = take(workspace, name)
    if lock is not None:
        lock.release()
    return lock is None
