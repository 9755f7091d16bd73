"""The part of a fake engine that holds knowledge, put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.knowledge.harvest.report import Survey
from engine.knowledge.verify import CheckedEntry
from engine.store.change import ChangeCommit
from tests.tui.knowledge_data import FakeDigest, FakeNotes
from tests.tui.ledger_data import FakeLedger
from tests.tui.review_data import FakeReview

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


class FakeKnowledge:
    """Answers at once from what its parts hold."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.ledger = FakeLedger(engine)
        self.review = FakeReview(engine)
        self.digest = FakeDigest(engine)
        self.notes = FakeNotes(engine)

    @property
    def harvest(self) -> FakeLedger:
        """The ledger harvests as well."""
        return self.ledger

    @property
    def reclaimer(self) -> FakeLedger:
        """And brings conversations back."""
        return self.ledger

    def price_of(self, survey: Survey) -> float | None:
        """A tenth of a cent for a thousand tokens; markers cost nothing."""
        return 0.0 if survey.provider == "markers" else survey.tokens / 1e6

    def verify(self) -> Iterator[CheckedEntry]:
        """As the ledger's."""
        return self.ledger.verify()

    def check(self, sha256: str) -> CheckedEntry:
        """As the ledger's."""
        return self.ledger.check(sha256)

    def commit(self, paths: tuple[str, ...], message: str) -> ChangeCommit:
        """Notes it."""
        self._engine.note("commit", paths, message)
        return ChangeCommit("c" * 40)
