"""What the ledger screen knows: the entries, what they are narrowed to, and what was held against the files.

Nothing here touches a widget or waits for anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from tui.render.figures import count
from tui.screens.ledger.checking import Check, Entries, Tally
from tui.screens.ledger.entries import RecordItem, newest_first

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry

Phase = Literal["loading", "trouble", "found"]


class LedgerState:
    """The state of one ledger screen."""

    def __init__(self) -> None:
        self.phase: Phase = "loading"
        self.problem = ""
        self.broken = False
        self.only = ""
        self.tally: Tally | None = None
        self.verifying: int | None = None
        """How many entries are verified; ``None`` while none are being."""
        self.check: tuple[str, Check] | None = None
        """The entry in view, by its sha256, against the files."""
        self._found: Mapping[str, LedgerEntry] = {}
        self._items: list[RecordItem] = []

    @property
    def items(self) -> list[RecordItem]:
        """The rows: those of the status that is kept to."""
        return [each for each in self._items if not self.only or each.entry.status == self.only]

    @property
    def whole(self) -> int:
        """How many entries there are."""
        return len(self._items)

    @property
    def failed(self) -> frozenset[str]:
        """The entries whose harvest failed, by sha256."""
        return frozenset(name for name, entry in self._found.items() if entry.status == "harvest-failed")

    @property
    def result(self) -> str:
        """How far a verification is, or what it came to; empty where there was none."""
        if self.verifying is not None:
            return f"verifying {count(self.verifying)} of {count(self.whole)} …"
        return str(self.tally) if self.tally is not None else ""

    def take(self, read: Entries) -> None:
        """Takes in what was read."""
        self.problem, self.broken = read.problem, read.broken
        self.phase = "found" if read.found is not None else "trouble"
        found = read.found or {}
        if found != self._found:
            self.tally = None  # it was about other entries
        self._found = found
        self._sort()

    def take_tally(self, tally: Tally | None) -> None:
        """Takes in what verifying came to; ``None`` when it could not be done."""
        self.verifying, self.tally = None, tally
        self._sort()

    def check_of(self, sha256: str) -> Check:
        """An entry against the files, as far as that was looked up."""
        return self.check[1] if self.check is not None and self.check[0] == sha256 else Check()

    def next_status(self) -> str:
        """Keeps to the next status; empty for all of them."""
        from engine.knowledge.ledger import STATUSES  # noqa: PLC0415 — reading the ledger has loaded it

        steps = ("", *STATUSES)
        self.only = steps[(steps.index(self.only) + 1) % len(steps)]
        return self.only

    def _sort(self) -> None:
        self._items = newest_first(self._found, self.tally.lost if self.tally is not None else frozenset())
