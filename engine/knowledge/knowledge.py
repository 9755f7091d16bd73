"""Knowledge that stays, as a face uses it: each part is made when it is first needed."""

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
    from engine.knowledge.changing import FileChanges
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.harvest.report import Survey
    from engine.knowledge.harvest.run import Extracts, Harvest
    from engine.knowledge.notes import NoteFiles
    from engine.knowledge.reviewing import Reviewing
    from engine.knowledge.verify import CheckedEntry
    from engine.providers.chat import ChatProvider
    from engine.settings.model import Config, HarvestSettings
    from engine.store.change import ChangeCommit
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(eq=False)
class Knowledge:
    """The knowledge of a workspace. Safe to use from several threads, as its parts are.

    ``extractor`` is the one that the settings name when left out; ``model`` is ``None`` if they name none.
    """

    files: Files
    repository: Repository
    config: Callable[[], Config]
    costs: Callable[[], Costs]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    extractor: Callable[[HarvestSettings], Extracts] | None = None
    model: Callable[[HarvestSettings], ChatProvider | None] = lambda _settings: None

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.files, self.repository)
        self.trash = Trash(self.files, self.clock)
        self.digest = Digest(self.files)

    @cached_property
    def review(self) -> Reviewing:
        """What waits for a person, and what becomes of it."""
        from engine.knowledge.review import ReviewQueue  # noqa: PLC0415 — only where something waits
        from engine.knowledge.reviewing import Reviewing  # noqa: PLC0415 — only where something waits

        queue = ReviewQueue(self.files, self.clock)
        return Reviewing(self.files, queue, self.ledger, self.digest, self.commit, self.on_problem)

    @cached_property
    def changes(self) -> FileChanges:
        """What makes changes of files that were decided before."""
        from engine.knowledge.changing import FileChanges  # noqa: PLC0415 — only where one is made

        return FileChanges(self.files, self.commit, self.on_problem)

    @cached_property
    def notes(self) -> NoteFiles:
        """Notes of files."""
        from engine.knowledge.notes import NoteFiles  # noqa: PLC0415 — only where there is one

        return NoteFiles(self.files, self.clock, lambda: self.config().days.time_zone)

    @cached_property
    def reclaimer(self) -> Reclaimer:
        """What moves conversations to the trash and back."""
        from engine.knowledge.harvest.reclaim import Reclaimer  # noqa: PLC0415 — only where one goes

        return Reclaimer(self.files, self.ledger, self.trash, self.repository, self.commit, self.on_problem)

    @cached_property
    def harvest(self) -> Harvest:
        """What moves knowledge out of conversations."""
        from engine.knowledge.harvest.run import Harvest  # noqa: PLC0415 — only where one is harvested
        from engine.knowledge.harvest.settle import Settler  # noqa: PLC0415 — only where one is harvested

        settler = Settler(
            self.files, self.ledger, self.review.queue, self.digest, self.commit, self.on_problem
        )
        return Harvest(
            self.files,
            self.ledger,
            settler,
            self.reclaimer,
            self.trash,
            lambda: self.config().harvest,
            self.extractor or self._configured,
            self.clock,
            lambda: self.config().days.time_zone,
        )

    def verify(self) -> Iterator[CheckedEntry]:
        """Compares every entry of the ledger with the files.

        Raises:
            LedgerBroken: The ledger is damaged or gone.
        """
        from engine.knowledge.verify import verify  # noqa: PLC0415 — only where it is asked for

        return verify(self.ledger.entries(), self.files, self.trash, self.repository)

    def check(self, sha256: str) -> CheckedEntry:
        """Compares one entry of the ledger with the files.

        Raises:
            LedgerBroken: The ledger is damaged or gone.
            HarvestRefused: It has no such entry.
        """
        from engine.knowledge.verify import verify  # noqa: PLC0415 — only where it is asked for

        entry = self.ledger.get(sha256)
        if entry is None:
            raise HarvestRefused(
                f"the ledger has no entry {sha256[:12]}", hint="see: autopoiesis ledger list"
            )
        return next(verify({sha256: entry}, self.files, self.trash, self.repository))

    def price_of(self, survey: Survey) -> float | None:
        """About what a harvest would cost, US dollars: what is sent; ``None`` where no price is known."""
        completer = self.model(self.config().harvest)
        if completer is None:
            return 0.0
        price = self.costs().prices.price(completer.model, elsewhere=bool(completer.address))
        return None if price is None else survey.tokens * price.input / 1e6

    def commit(self, paths: Sequence[str], message: str) -> ChangeCommit:
        """Commits files that were written, where the settings want it."""
        return commit_change(lambda: self.repository, paths, message, wanted=self.config().git.auto_commit)

    def _configured(self, settings: HarvestSettings) -> Extracts:
        from engine.knowledge.harvest.extract import Extractor  # noqa: PLC0415 — brings the tokenizer

        completer = self.model(settings)
        if completer is None:
            return Extractor(settings)
        return Extractor(settings, completer, self.costs().account("harvest", completer))
