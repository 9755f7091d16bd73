"""The long-term knowledge of a workspace; each part is created when first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engine.errors import HarvestRefused
from engine.knowledge.digest import Digest
from engine.knowledge.ledger import Ledger
from engine.knowledge.trash import Trash
from engine.store.change import commit_change

if TYPE_CHECKING:
    from engine.costs.costs import Costs
    from engine.knowledge.file_changes import FileChanges
    from engine.knowledge.harvest.extract import Extractor
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.harvest.report import Survey
    from engine.knowledge.harvest.run import Harvest
    from engine.knowledge.notes import NoteFiles
    from engine.knowledge.review import Reviewing
    from engine.knowledge.verify import CheckedEntry
    from engine.providers.chat import ChatProvider
    from engine.settings.model import Config, HarvestSettings
    from engine.store.change import ChangeCommit
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(eq=False)
class Knowledge:
    """The knowledge of a workspace. Thread-safe, as are its parts.

    ``extractor`` defaults to the one in the settings; ``model`` gives ``None`` if the settings name none.
    """

    files: Files
    repository: Repository
    config: Callable[[], Config]
    costs: Callable[[], Costs]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    extractor: Callable[[HarvestSettings], Extractor] | None = None
    model: Callable[[HarvestSettings], ChatProvider | None] = lambda _settings: None

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.files, self.repository)
        self.trash = Trash(self.files, self.clock)
        self.digest = Digest(self.files)

    @cached_property
    def review(self) -> Reviewing:
        """The review of pending items."""
        from engine.knowledge.review import Reviewing, ReviewQueue  # noqa: PLC0415 — only on demand

        queue = ReviewQueue(self.files, self.clock)
        return Reviewing(self.files, queue, self.ledger, self.digest, self.commit, self.on_problem)

    @cached_property
    def changes(self) -> FileChanges:
        """Makes planned file changes."""
        from engine.knowledge.file_changes import FileChanges  # noqa: PLC0415 — only on demand

        return FileChanges(self.files, self.commit, self.on_problem)

    @cached_property
    def notes(self) -> NoteFiles:
        """Notes on files."""
        from engine.knowledge.notes import NoteFiles  # noqa: PLC0415 — only for file notes

        return NoteFiles(self.files, self.clock, lambda: self.config().days.time_zone)

    @cached_property
    def reclaimer(self) -> Reclaimer:
        """Moves conversations to the trash and back."""
        from engine.knowledge.harvest.reclaim import Reclaimer  # noqa: PLC0415 — only for reclaiming

        return Reclaimer(self.files, self.ledger, self.trash, self.repository, self.commit, self.on_problem)

    @cached_property
    def harvest(self) -> Harvest:
        """Extracts knowledge from conversations."""
        from engine.knowledge.harvest.run import Harvest  # noqa: PLC0415 — only on demand

        return Harvest(
            self.files,
            self.ledger,
            self.digest,
            lambda: self.review.queue,
            self.reclaimer,
            self.trash,
            self.commit,
            self.on_problem,
            lambda: self.config().harvest,
            self.extractor or self._configured,
            self.clock,
            lambda: self.config().days.time_zone,
        )

    def verify(self) -> Iterator[CheckedEntry]:
        """Compares all ledger entries with the files; raises ``LedgerBroken`` if the ledger is damaged or
        lost."""
        from engine.knowledge.verify import verify  # noqa: PLC0415 — only on demand

        return verify(self.ledger.entries(), self.files, self.trash, self.repository)

    def check(self, sha256: str) -> CheckedEntry:
        """Compares one entry of the ledger with the files.

        Raises:
            LedgerBroken: The ledger is damaged or lost.
            HarvestRefused: It has no such entry.
        """
        from engine.knowledge.verify import verify  # noqa: PLC0415 — only on demand

        entry = self.ledger.get(sha256)
        if entry is None:
            raise HarvestRefused(f"no such ledger entry: {sha256[:12]}", hint="see: autopoiesis ledger list")
        return next(verify({sha256: entry}, self.files, self.trash, self.repository))

    def price_of(self, survey: Survey) -> float | None:
        """Estimated cost of a harvest's input in US dollars; ``None`` if the price is unknown."""
        completer = self.model(self.config().harvest)
        if completer is None:
            return 0.0
        price = self.costs().prices.price(completer.model, elsewhere=bool(completer.address))
        return None if price is None else survey.tokens * price.input / 1e6

    def commit(self, paths: Sequence[str], message: str) -> ChangeCommit:
        """Commits written files if the settings allow it."""
        return commit_change(lambda: self.repository, paths, message, wanted=self.config().git.auto_commit)

    def _configured(self, settings: HarvestSettings) -> Extractor:
        from engine.knowledge.harvest.extract import Extractor  # noqa: PLC0415 — imports the tokenizer

        completer = self.model(settings)
        if completer is None:
            return Extractor(settings)
        return Extractor(settings, completer, self.costs().account("harvest", completer))
