"""What ``SearchIndex`` asks of whatever keeps the index: memory.db, or a PostgreSQL that machines share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.search.database import Unavailable
    from engine.search.embeddings import Embedder
    from engine.search.engines import Engine
    from engine.search.past import Past
    from engine.search.reports import IndexReport, IndexStatus, VerifyReport
    from engine.search.writer import Progress

Turn = tuple[int, int, str, str, str, str]
"""First and last line, speaker, heading, date and text of a chunk."""


class State(Protocol):
    """One consistent state of a complete index."""

    def has_vectors_of(self, embedder: Embedder) -> bool:
        """Whether vectors of this model can be searched; ``False`` if its id cannot be determined."""
        ...

    def engine(self, dimensions: int) -> Engine:
        """For the ranking. ``dimensions`` of the vectors, 0 to read none."""
        ...

    def past(self) -> Past:
        """The past sessions."""
        ...

    def turns(self, file: int, position: int | None) -> list[Turn]:
        """The chunks of a file by row id, or the one at a position."""
        ...

    def status(self) -> IndexStatus:
        """What is in the index."""
        ...


class Storage(Protocol):
    """Keeps the index of one workspace. Thread-safe."""

    def read(self, *, vectors: bool = False) -> AbstractContextManager[State]:
        """A state to read, while the context lasts.

        Args:
            vectors: Whether vectors will be searched.

        Raises:
            Unavailable: There is no complete index, or reading it failed, also within the context.
        """
        ...

    def refresh(
        self,
        progress: Progress | None,
        paths: Sequence[str] | None,
        *,
        rebuild: str = "",
        wait_s: float | None = None,
    ) -> IndexReport:
        """See ``SearchIndex.refresh``; ``rebuild`` is why to delete the index first, empty to keep it."""
        ...

    def verify(self, progress: Progress | None, *, repair: bool) -> VerifyReport:
        """See ``SearchIndex.verify``."""
        ...

    def repair(self, error: Unavailable) -> None:
        """Do what may help after an error of ``read`` that is repairable. Raises as ``refresh``."""
        ...

    def finish_vectors(self, progress: Progress | None) -> str:
        """See ``SearchIndex.finish_vectors``."""
        ...

    def seed(self, other: Path) -> None:
        """See ``SearchIndex.seed``."""
        ...

    def stop(self) -> None:
        """Stop background work and close a slow model. Reading remains possible."""
        ...

    def close(self) -> None:
        """Close what is open. Called after ``stop``."""
        ...
