"""Reading the ledger and holding its entries against the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import LedgerBroken
from tui.render.figures import count, plural

if TYPE_CHECKING:
    from engine.knowledge.knowledge import Knowledge
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedEntry

STEP = 25
"""Entries after which a verification says how far it is."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What reading the ledger gave."""

    found: Mapping[str, LedgerEntry] | None = None
    """The entries by sha256; ``None`` where they could not be read."""
    problem: str = ""
    broken: bool = False
    """The ledger is damaged or gone; rebuilding it helps."""


@dataclass(frozen=True, slots=True)
class Check:
    """One entry against the files; without any values while that is looked up."""

    entry: CheckedEntry | None = None
    waiting: int | None = None
    """How many of its items that were held for review still wait; ``None`` where that is not known."""
    problem: str = ""
    """Why it could not be checked."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a verification of all entries came to."""

    entries: int
    there: int
    edited: int
    gone: int
    lost: frozenset[str]
    """The entries whose conversation is nowhere any more, by sha256."""

    @classmethod
    def of(cls, checked: Sequence[CheckedEntry]) -> Tally:
        """Sums up."""
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
    """Reads the ledger; one that is damaged is an answer, for there is a way out."""
    try:
        return Entries(knowledge.ledger.entries())
    except LedgerBroken as error:
        return Entries(problem=str(error), broken=True)


def check_entry(knowledge: Knowledge, sha256: str) -> Check:
    """Holds an entry against the files and the review queue."""
    checked = knowledge.check(sha256)
    held, waiting = set(checked.entry.held), 0
    if held:
        waiting = sum(each.id in held for each in knowledge.review.queue.waiting())
    return Check(checked, waiting)


def verify_entries(
    knowledge: Knowledge, progress: Callable[[int], None], wanted: Callable[[], bool]
) -> Tally:
    """Holds all entries against the files.

    Args:
        progress: Called every ``STEP`` entries with how many are done.
        wanted: Whether to go on after the present entry.
    """
    found: list[CheckedEntry] = []
    for each in knowledge.verify():
        found.append(each)
        if not len(found) % STEP:
            progress(len(found))
        if not wanted():
            break
    return Tally.of(found)
