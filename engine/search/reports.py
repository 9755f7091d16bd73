"""Reports of indexing and checking."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from engine.startup.records import dataclass

Progress = Callable[[int, int], None]
"""Called with the number of steps done and the total."""

State = Literal["ready", "building", "missing", "outdated", "broken"]


class Unavailable(Exception):
    """The index cannot answer now, so the files have to be searched directly.

    Args:
        repairable: Whether a refresh is likely to help.
        damaged: The file that was found damaged, by device and inode, if one was.
    """

    def __init__(
        self,
        state: State,
        why: str,
        *,
        repairable: bool = True,
        damaged: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(why)
        self.state = state
        self.why = why
        self.repairable = repairable
        self.damaged = damaged


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not in the index, and why, in one clause."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Result of one refresh."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: tuple[Skipped, ...] = ()
    chunks: int = 0
    embedded: int = 0  # vectors computed by this refresh
    seconds: float = 0.0
    rebuilt: str = ""  # why the whole index was rebuilt
    vectors: str = ""  # why there is no search by meaning, or why computing vectors failed
    waiting: int = 0  # chunks whose vectors a slow model has yet to compute in the background
    stopped: bool = False  # stopped before it was done; the next refresh continues from there


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """Index contents of one category."""

    category: str
    files: int
    chunks: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The state of the index."""

    state: State  # unless it is ``ready``, the files are searched directly
    why: str = ""  # why the state is not ``ready``
    files: int = 0
    chunks: int = 0
    vectors: int = 0  # chunks that can be found by meaning
    without_vectors: str = ""  # why there is no search by meaning
    vectors_coming: str = ""  # the progress of a slow model, and the error that stopped it, if any
    embedder: str = ""  # id of the model
    skipped: tuple[Skipped, ...] = ()
    size: int = 0  # bytes on disk, of a shared index those of all workspaces in it
    refreshed: datetime | None = None  # when the index last became complete, UTC
    journal: str = ""  # SQLite's journal mode, ``wal`` or ``delete``; empty for a shared index
    error: str = ""  # why the last attempt to index in the background failed
    categories: tuple[CategoryCount, ...] = ()
    """In the order of ``results.CATEGORIES``; ``files`` and ``chunks`` are the totals."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Result of an index check."""

    problems: tuple[str, ...] = ()
    rebuilt: bool = False
    refresh: IndexReport | None = None  # ``None`` if nothing was rebuilt

    @property
    def sound(self) -> bool:
        """True if no problems were found."""
        return not self.problems
