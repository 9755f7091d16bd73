"""What indexing and checking have to say about themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

State = Literal["ready", "building", "missing", "outdated", "broken"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not in the index, and why, in one clause."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one refresh did.

    Attributes:
        added: Files that are new in the index.
        changed: Files whose content was read anew.
        removed: Files that are gone.
        unchanged: Files left alone.
        skipped: Files that cannot be indexed.
        chunks: Chunks in the index now.
        embedded: Vectors computed by this refresh.
        seconds: How long it took.
        rebuilt: Why the whole index was made anew; ``""`` when it was not.
        vectors: Why there is no search by meaning, or why it does not get on; ``""`` when all is well.
        waiting: Chunks whose vectors a slow model is still to make, in the background.
        stopped: The refresh was ended before its work was done; the next one goes on from there.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: tuple[Skipped, ...] = ()
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    rebuilt: str = ""
    vectors: str = ""
    waiting: int = 0
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """What the index holds of one category.

    Attributes:
        category: As in ``Chunk.category``.
        files: Indexed files.
        chunks: Their chunks.
        skipped: Files of it that cannot be indexed.
    """

    category: str
    files: int
    chunks: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How the index stands, without changing it.

    Attributes:
        state: ``ready`` answers; in every other state the files themselves are searched.
        why: One clause where the state is not ``ready``.
        files: Indexed files.
        chunks: Their chunks.
        vectors: Chunks that can be found by meaning.
        without_vectors: Why there is no search by meaning; ``""`` when there is.
        vectors_coming: How far the vectors are while a model makes them, and what keeps it from going on;
            ``""`` when all are there.
        embedder: Id of the model the vectors are of; ``""`` without vectors.
        skipped: Files that cannot be indexed.
        size: Bytes on disk.
        refreshed: When the index last became complete, UTC.
        journal: SQLite's journal mode, ``wal`` or ``delete``.
        trouble: Why the last attempt to bring the index up in the background failed; ``""`` otherwise.
        categories: Files and chunks by category, in the order of ``results.CATEGORIES``; none of what has no
            file. ``files`` and ``chunks`` are their sums.
    """

    state: State
    why: str = ""
    files: int = 0
    chunks: int = 0
    vectors: int = 0
    without_vectors: str = ""
    vectors_coming: str = ""
    embedder: str = ""
    skipped: tuple[Skipped, ...] = ()
    size: int = 0
    refreshed: datetime | None = None
    journal: str = ""
    trouble: str = ""
    categories: tuple[CategoryCount, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check of the index found.

    Attributes:
        problems: One clause each; empty when the index is sound.
        rebuilt: The index was made anew because of them.
        refresh: What the making did; ``None`` when there was none.
    """

    problems: tuple[str, ...] = ()
    rebuilt: bool = False
    refresh: IndexReport | None = None

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.problems
