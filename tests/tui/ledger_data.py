"""A ledger, a harvest and a trash in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from engine.knowledge.harvest.run import Report, Result, Survey, Wish
from engine.knowledge.ledger import LedgerEntry
from engine.knowledge.verify import CheckedEntry

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


class FakeLedger:
    """The entries, the harvest and what brings conversations back."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.known: dict[str, LedgerEntry] = {}
        self.surveyed = Survey((), "markers", "")
        self.reported = Report(())

    def entries(self) -> Mapping[str, LedgerEntry]:
        """The entries."""
        self._engine.note("entries")
        return self.known

    def rebuild(self) -> tuple[int, int]:
        """Notes it."""
        self._engine.note("rebuild")
        return len(self.known), 0

    def survey(self, *, transcripts: bool = False) -> Survey:
        """What there is."""
        self._engine.note("survey", transcripts)
        return self.surveyed

    def run(
        self,
        wish: Wish,
        on_result: Callable[[Result], None] = lambda _result: None,
        on_start: Callable[[str], None] = lambda _path: None,
    ) -> Report:
        """Tells of every result."""
        self._engine.note("harvest", wish)
        for result in self.reported.results:
            on_start(result.path)
            on_result(result)
        return self.reported

    def stop(self) -> None:
        """Notes it."""
        self._engine.note("stop harvest")

    def restore(self, sha256: str) -> str:
        """Notes it."""
        self._engine.note("restore", sha256)
        return self.known[sha256].path

    def verify(self) -> Iterator[CheckedEntry]:
        """Everything is there."""
        self._engine.note("verify")
        return (CheckedEntry(name, entry, "there", ()) for name, entry in self.known.items())
