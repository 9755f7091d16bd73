"""Writes what was found in conversations; a killed run loses and duplicates nothing (design 6.2).

Harvest, extraction and flush write in the same steps, under the workspace's lock: journal, lines (each
checked after writing), held items, record, delete the journal. All steps are repeatable, so a leftover
journal is simply worked through again. What the record is, and when it is committed, is up to each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from engine.knowledge.apply import write_all
from engine.knowledge.item import Edit, HeldItem
from engine.knowledge.journal import Journal
from engine.knowledge.review import Locate, PendingItem, QueueResult, nowhere, pending_item_in, tree_of
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.knowledge.review import ReviewQueue
    from engine.store.change import Commit
    from engine.store.files import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(ABC):
    """Edits to write and items to queue for review; subclasses add what the work is about."""

    edits: tuple[Edit, ...]
    waiting: tuple[PendingItem, ...] = ()  # items to queue for review

    @abstractmethod
    def pending(self, held: Iterable[HeldItem], locate: Locate = nowhere) -> tuple[PendingItem, ...]:
        """Held items of this work, for the review queue."""


W = TypeVar("W", bound=Work)
R = TypeVar("R")


@dataclass(eq=False)
class Settler(ABC, Generic[W, R]):
    """Does one kind of work.

    Attributes:
        kind: The class of the work.
        folder: Of its journals, workspace-relative.
        lost: As for ``Journal``.
    """

    kind: ClassVar[type[Any]]
    folder: ClassVar[str]
    lost: ClassVar[str]

    files: Files
    review: Callable[[], ReviewQueue]
    commit: Commit
    on_problem: Callable[[str], None]

    @abstractmethod
    def record(self, work: W, queued: QueueResult) -> R:
        """Records work that is done, given with the edits that were written and all items that were queued.
        Repeatable; the caller holds the lock."""

    def settle(self, name: str, work: W, held: Iterable[HeldItem], locate: Locate) -> R:
        """Does work and queues held items; ``name`` is that of the journal.

        Raises:
            WriteFailed, ReadOnly: It was not done completely; ``recover`` does the rest. As ``record``.
        """
        work = replace(work, waiting=work.pending(held, locate))
        with self.files.lock():
            self._journal.keep(name, work)
            return self._settle(name, work)

    def recover(self) -> list[R]:
        """Finishes interrupted work.

        Raises:
            WriteFailed, ReadOnly: Some cannot be finished now; its journal is kept. As ``record``.
        """
        return self._journal.finish(self._settle)

    def existing(self, *paths: str) -> list[str]:
        """Those of some files, and of the review queue, that exist."""
        written = dict.fromkeys((*paths, *self.review().paths))
        return [path for path in written if (self.files.workspace.root / path).is_file()]

    @cached_property
    def _journal(self) -> Journal[W]:
        return Journal(self.files, self.folder, self._read, self.lost, self.on_problem, _tree_of)

    def _read(self, tree: Any) -> W:
        waiting = tuple(map(pending_item_in, tree.pop("waiting")))
        if None in waiting:
            raise ValueError("an item for review is not valid")
        work: W = replace(typed(self.kind, tree), waiting=waiting)
        return work

    def _settle(self, name: str, work: W) -> R:
        written, refused = write_all(self.files, work.edits)
        waiting = (*work.waiting, *work.pending(refused))
        queued = self.review().put(waiting) if waiting else QueueResult((), 0)
        done = self.record(replace(work, edits=tuple(written), waiting=waiting), queued)
        self._journal.drop(name)
        return done


def _tree_of(work: Work) -> dict[str, Any]:
    return asdict(work) | {"waiting": [tree_of(each) for each in work.waiting]}
