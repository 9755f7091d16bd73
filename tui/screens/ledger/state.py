"""What the ledger screen knows: the entries, what they are narrowed to, and what was held against the files.

Nothing here touches a widget or waits for anything.
"""

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


Phase = Literal["loading", "error", "found"]


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
        self.checks: dict[str, Check] = {}
        """The entry that was in view last, by its sha256, against the files."""
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
        self.phase = "found" if read.found is not None else "error"
        found = read.found or {}
        if found != self._found:
            self.tally = None  # it was about other entries
        self._found = found
        self._sort()

    def take_tally(self, tally: Tally | None) -> None:
        """Takes in what verifying came to; ``None`` when it could not be done."""
        self.verifying, self.tally = None, tally
        self._sort()

    def next_status(self) -> str:
        """Keeps to the next status; empty for all of them."""
        from engine.knowledge.ledger import STATUSES  # noqa: PLC0415 — reading the ledger has loaded it

        steps = ("", *STATUSES)
        self.only = steps[(steps.index(self.only) + 1) % len(steps)]
        return self.only

    def _sort(self) -> None:
        self._items = newest_first(self._found, self.tally.lost if self.tally is not None else frozenset())
