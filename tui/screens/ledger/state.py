"""State of the ledger screen: entries, filter, and checks against the files; touches no widgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.errors import LedgerBroken
from tui.render.figures import count, plural
from tui.screens.ledger.entries import RecordItem, newest_first

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedEntry


STEP = 25
"""Entries between progress reports of a verification."""


@dataclass(frozen=True, slots=True)
class Entries:
    found: Mapping[str, LedgerEntry] | None = None
    """The entries by sha256; ``None`` if they could not be read."""
    problem: str = ""
    broken: bool = False
    """The ledger is damaged or missing and can be rebuilt."""


@dataclass(frozen=True, slots=True)
class Check:
    """The check of one entry against the files; without values while it is running."""

    entry: CheckedEntry | None = None
    waiting: int | None = None
    """Number of its items still pending review; ``None`` if unknown."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """The result of verifying all entries."""

    entries: int
    there: int
    edited: int
    gone: int
    lost: frozenset[str]
    """SHA-256 of the entries whose conversation was not found anywhere."""

    @classmethod
    def of(cls, checked: Sequence[CheckedEntry]) -> Tally:
        states = [line.state for each in checked for line in each.lines]
        return cls(
            len(checked),
            states.count("there"),
            states.count("edited"),
            states.count("gone"),
            frozenset(each.sha256 for each in checked if not each.sound),
        )

    def __str__(self) -> str:
        lines = f"lines: {count(self.there)} there, {count(self.edited)} edited, {count(self.gone)} gone"
        return f"{plural(self.entries, 'entry', 'entries')} verified, {count(len(self.lost))} lost · {lines}"


def read_entries(knowledge: Knowledge) -> Entries:
    """Reads the ledger; a damaged one is a result, not an error, as it can be rebuilt."""
    try:
        return Entries(knowledge.ledger.entries())
    except LedgerBroken as error:
        return Entries(problem=str(error), broken=True)


def check_entry(knowledge: Knowledge, sha256: str) -> Check:
    """Checks an entry against the files and the review queue."""
    checked = knowledge.check(sha256)
    held, waiting = set(checked.entry.held), 0
    if held:
        waiting = sum(each.id in held for each in knowledge.review.queue.waiting())
    return Check(checked, waiting)


def verify_entries(
    knowledge: Knowledge, progress: Callable[[int], None], wanted: Callable[[], bool]
) -> Tally:
    """Checks all entries against the files.

    Args:
        progress: Called every ``STEP`` entries with the number done.
        wanted: Returns whether to continue after the current entry.
    """
    found: list[CheckedEntry] = []
    for each in knowledge.verify():
        found.append(each)
        if not len(found) % STEP:
            progress(len(found))
        if not wanted():
            break
    return Tally.of(found)


Phase = Literal["loading", "error", "found"]


class LedgerState:
    def __init__(self) -> None:
        self.phase: Phase = "loading"
        self.problem = ""
        self.broken = False
        self.only = ""
        self.tally: Tally | None = None
        self.verifying: int | None = None
        """Number of entries verified so far; ``None`` if no verification is running."""
        self.checks: dict[str, Check] = {}
        """The check of the entry shown last, by sha256."""
        self._found: Mapping[str, LedgerEntry] = {}
        self._items: list[RecordItem] = []

    @property
    def items(self) -> list[RecordItem]:
        return [each for each in self._items if not self.only or each.entry.status == self.only]

    @property
    def total(self) -> int:
        return len(self._items)

    @property
    def failed(self) -> frozenset[str]:
        """SHA-256 of the entries whose harvest failed."""
        return frozenset(name for name, entry in self._found.items() if entry.status == "harvest-failed")

    @property
    def result(self) -> str:
        """Progress or result of a verification; empty if there was none."""
        if self.verifying is not None:
            return f"verifying {count(self.verifying)} of {count(self.total)} …"
        return str(self.tally) if self.tally is not None else ""

    def take(self, read: Entries) -> None:
        self.problem, self.broken = read.problem, read.broken
        self.phase = "found" if read.found is not None else "error"
        found = read.found or {}
        if found != self._found:
            self.tally = None  # it covers other entries
        self._found = found
        self._sort()

    def take_tally(self, tally: Tally | None) -> None:
        """Stores the result of a verification; ``None`` if it failed."""
        self.verifying, self.tally = None, tally
        self._sort()

    def next_status(self) -> str:
        """Filters by the next status; empty for all."""
        from engine.knowledge.ledger import STATUSES  # noqa: PLC0415 — loaded with the ledger

        steps = ("", *STATUSES)
        self.only = steps[(steps.index(self.only) + 1) % len(steps)]
        return self.only

    def _sort(self) -> None:
        self._items = newest_first(self._found, self.tally.lost if self.tally is not None else frozenset())
