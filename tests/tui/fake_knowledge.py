"""The knowledge part of the fake engine, assembled from its fakes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.errors import HarvestRefused
from engine.knowledge.digest import Digest
from engine.knowledge.harvest.report import Survey
from engine.knowledge.knowledge import Knowledge
from engine.knowledge.verify import CheckedEntry
from engine.store.change import ChangeCommit
from tests.tui.ledger_data import FakeHarvest, FakeLedger, FakeReclaimer

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


class FakeKnowledge(Knowledge):
    """Answers immediately from its fake parts."""

    ledger: FakeLedger

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.ledger = FakeLedger(engine)
        self.files, self.clock, self.on_problem = engine.files, engine.clock, engine.report_error
        self.digest = Digest(engine.files)
        self.harvest = FakeHarvest(engine, self.ledger)
        self.reclaimer = FakeReclaimer(engine, self.ledger)

    def price_of(self, survey: Survey) -> float | None:
        """A tenth of a cent per thousand tokens; markers cost nothing."""
        return 0.0 if survey.provider == "markers" else survey.tokens / 1e6

    def verify(self) -> Iterator[CheckedEntry]:
        """Checks every ledger entry."""
        self._engine.record("verify")
        return (self.ledger.checked(name) for name in list(self.ledger.known))

    def check(self, sha256: str) -> CheckedEntry:
        """Checks one ledger entry."""
        self._engine.record("check", sha256)
        if sha256 not in self.ledger.known:
            raise HarvestRefused(f"the ledger has no entry {sha256[:12]}")
        return self.ledger.checked(sha256)

    def commit(self, paths: Sequence[str], message: str) -> ChangeCommit:
        """Records the call."""
        self._engine.record("commit", paths, message)
        return ChangeCommit("c" * 40)
