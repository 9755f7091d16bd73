"""Writes what was found in conversations; a killed run loses and duplicates nothing (design 6.2).

Harvest, extraction and flush write in the same steps, under the workspace's lock: journal, lines (each
checked after writing), held items, record, delete the journal. All steps are repeatable, so a leftover
journal is simply worked through again. What the record is, and when it is committed, is up to each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.knowledge.apply import write_all
from engine.knowledge.item import Edit, HeldItem, Origin
from engine.knowledge.journal import Journal
from engine.knowledge.review import (
    Locate,
    PendingItem,
    QueueResult,
    nowhere,
    pending_item_in,
    pending_items,
    tree_of,
)
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.knowledge.review import ReviewQueue
    from engine.store.files import Files

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Generic[T]):
    """What was found in one conversation, and is to be written."""

    path: str  # of the conversation, workspace-relative
    sha256: str = ""  # of its bytes; empty if it may grow
    at: str  # when it was read, ISO 8601, UTC
    origin: Origin
    record: T  # what is recorded, without what is known only after writing
    edits: tuple[Edit, ...]
    waiting: tuple[PendingItem, ...] = ()  # items to queue for review

    def with_held(self, held: Iterable[HeldItem], locate: Locate = nowhere) -> Finding[T]:
        """It with further items for review; ``locate`` finds their lines in the conversation."""
        more = pending_items(
            held, at=self.at, origin=self.origin, source=self.path, sha256=self.sha256, locate=locate
        )
        return replace(self, waiting=(*self.waiting, *more))


@dataclass(eq=False)
class Settler(Generic[T, R]):
    """Writes findings of one kind.

    Args:
        read: Gives the record in a tree of a journal; raises as ``typed``.
        record: Records a finding that is written, given with the edits that were written and all items that
            were queued. Repeatable; the workspace is locked.
        folder: Of its journals, workspace-relative.
        lost: As for ``Journal``.
    """

    files: Files
    review: Callable[[], ReviewQueue]
    on_problem: Callable[[str], None]
    read: Callable[[Any], T]
    record: Callable[[Finding[T], QueueResult], R]
    folder: str
    lost: str

    def settle(self, name: str, finding: Finding[T]) -> R:
        """Writes a finding; ``name`` is that of the journal.

        Raises:
            WriteFailed, ReadOnly: It was not written completely; ``recover`` does the rest. As ``record``.
        """
        with self.files.lock():
            self._journal.keep(name, finding)
            return self._settle(name, finding)

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
    def _journal(self) -> Journal[Finding[T]]:
        return Journal(self.files, self.folder, self._read, self.lost, self.on_problem, _tree_of)

    def _read(self, tree: Any) -> Finding[T]:
        waiting = tuple(each for each in map(pending_item_in, tree["waiting"]) if each is not None)
        if len(waiting) < len(tree["waiting"]):
            raise ValueError("an item for review is not valid")
        edits = tuple(typed(Edit, each) for each in tree["edits"])
        return Finding(
            path=str(tree["path"]), sha256=str(tree["sha256"]), at=str(tree["at"]),
            origin=typed(Origin, tree["origin"]), record=self.read(tree["record"]),
            edits=edits, waiting=waiting,
        )  # fmt: skip

    def _settle(self, name: str, finding: Finding[T]) -> R:
        written, refused = write_all(self.files, finding.edits)
        finding = replace(finding.with_held(refused), edits=tuple(written))
        queued = self.review().put(finding.waiting) if finding.waiting else QueueResult((), 0)
        done = self.record(finding, queued)
        self._journal.drop(name)
        return done


def _tree_of(finding: Finding[Any]) -> dict[str, Any]:
    return asdict(finding) | {"waiting": [tree_of(each) for each in finding.waiting]}
