"""What the screens of knowledge, ledger and review need of the engine (``engine.knowledge``).

All of it reads files or asks services, so it is called from worker threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.context.views import DigestView
    from engine.knowledge.apply import Applied
    from engine.knowledge.entries import EntryScan
    from engine.knowledge.harvest.report import HarvestRequest, Report, Result, Survey
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.links import Links
    from engine.knowledge.notes import FileNotes, Rebinding
    from engine.knowledge.review import Waiting
    from engine.knowledge.reviewing import Reviewed
    from engine.knowledge.verify import CheckedEntry
    from engine.store.change import ChangeCommit


class WorkbenchLedger(Protocol):
    """The ledger (``engine.knowledge.ledger.Ledger``)."""

    def entries(self) -> Mapping[str, LedgerEntry]:
        """Every entry by sha256."""
        ...

    def rebuild(self) -> tuple[int, int]:
        """Makes it anew from the history; entries there are, and how many of them come from there."""
        ...


class WorkbenchHarvest(Protocol):
    """What harvests (``engine.knowledge.harvest.run.Harvest``)."""

    def survey(self, *, transcripts: bool = ...) -> Survey:
        """What there is, and what a harvest would do with it."""
        ...

    def run(
        self,
        request: HarvestRequest,
        on_result: Callable[[Result], None] = ...,
        on_start: Callable[[str], None] = ...,
    ) -> Report:
        """Harvests; may take minutes."""
        ...

    def stop(self) -> None:
        """Ends a run after what is under way, from another thread."""
        ...


class WorkbenchReclaimer(Protocol):
    """What brings conversations back (``engine.knowledge.harvest.reclaim.Reclaimer``)."""

    def restore(self, sha256: str) -> str:
        """Puts a conversation back; gives its path."""
        ...


class WorkbenchQueue(Protocol):
    """What waits for a person (``engine.knowledge.review.ReviewQueue``)."""

    def all(self) -> tuple[Waiting, ...]:
        """Every item that was ever held, oldest first."""
        ...

    def waiting(self) -> tuple[Waiting, ...]:
        """What waits now, oldest first."""
        ...


class WorkbenchReview(Protocol):
    """What settles it (``engine.knowledge.reviewing.Reviewing``)."""

    @property
    def queue(self) -> WorkbenchQueue:
        """What waits."""
        ...

    def accept(self, name: str, text: str = "", *, sure: bool = False) -> Reviewed:
        """Makes an item knowledge, as it is or as a text says it; ``sure`` where it could do harm."""
        ...

    def reject(self, name: str) -> Reviewed:
        """Turns an item down."""
        ...


class WorkbenchDigest(Protocol):
    """The digest (``engine.knowledge.digest.Digest``)."""

    def view(self) -> DigestView:
        """The digest as it is."""
        ...

    def regenerate(self, *, force: bool = ...) -> bool:
        """Makes it anew; ``force`` turns it on. Whether a file has changed."""
        ...

    def turn_off(self) -> bool:
        """Deletes it. Whether there was one."""
        ...

    @property
    def paths(self) -> tuple[str, ...]:
        """What a commit of it names."""
        ...


class WorkbenchNotes(Protocol):
    """Notes of files (``engine.knowledge.notes.NoteFiles``)."""

    def all(self) -> tuple[FileNotes, ...]:
        """All notes by path."""
        ...

    def questions(self) -> tuple[Rebinding, ...]:
        """The notes whose file is gone, or may be another."""
        ...

    def rebind(self, old: str, new: str | Path) -> FileNotes:
        """Binds notes to the file that the person says is theirs."""
        ...

    def add(self, path: str | Path, text: str) -> Applied:
        """Writes down a note of the person."""
        ...


class WorkbenchKnowledge(Protocol):
    """Knowledge that stays."""

    @property
    def ledger(self) -> WorkbenchLedger:
        """What became of every conversation."""
        ...

    @property
    def harvest(self) -> WorkbenchHarvest:
        """What moves knowledge out of conversations."""
        ...

    @property
    def reclaimer(self) -> WorkbenchReclaimer:
        """What brings conversations back."""
        ...

    @property
    def review(self) -> WorkbenchReview:
        """What waits for a person."""
        ...

    @property
    def digest(self) -> WorkbenchDigest:
        """The digest."""
        ...

    @property
    def notes(self) -> WorkbenchNotes:
        """Notes of files."""
        ...

    def price_of(self, survey: Survey) -> float | None:
        """About what a harvest would cost, US dollars."""
        ...

    def verify(self) -> Iterator[CheckedEntry]:
        """Holds every entry of the ledger against the files."""
        ...

    def check(self, sha256: str) -> CheckedEntry:
        """Holds one entry against them."""
        ...

    def commit(self, paths: tuple[str, ...], message: str) -> ChangeCommit:
        """Commits files that were written."""
        ...


class WorkbenchEntries(Protocol):
    """Knowledge entries and skills (``engine.knowledge.knowledge_entries.KnowledgeEntries``)."""

    def scan(self) -> EntryScan:
        """The entries as they are now."""
        ...

    def links(self, scan: EntryScan) -> Links:
        """The references of the files, for a scan made just now; every file is read for them."""
        ...
