"""What the ledger screen asks of the engine, off the screen's thread, and the messages that come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from engine.errors import AutopoiesisError, LedgerBroken
from tui.kit.lanes import Lane
from tui.kit.messages import Said
from tui.kit.session import WorkbenchEngine
from tui.kit.work import ScreenWork
from tui.render.figures import count, plural
from tui.screens.ledger.entries import Tally

if TYPE_CHECKING:
    from engine.knowledge.ledger import LedgerEntry
    from engine.knowledge.verify import CheckedEntry

STEP = 25
"""After so many entries a verification says how far it is."""


@dataclass
class EntriesRead(Message):
    """The ledger was read, or could not be; ``broken`` when it is damaged or gone."""

    found: dict[str, LedgerEntry] | None = None
    problem: str = ""
    broken: bool = False


@dataclass
class EntryChecked(Message):
    """An entry was held against the files, or could not be; ``waiting`` of its items wait for a person."""

    sha256: str
    checked: CheckedEntry | None = None
    waiting: int | None = None
    problem: str = ""


@dataclass
class Verifying(Message):
    """So many entries have been held against the files."""

    done: int

    def can_replace(self, message: Message) -> bool:
        """The newest is enough."""
        return isinstance(message, Verifying)


@dataclass
class Verified(Message):
    """All were, or they could not be."""

    tally: Tally | None = None


@dataclass
class LedgerChanged(Message):
    """A conversation was restored or the ledger rebuilt, or that could not be done: worth another look."""


class LedgerWork(ScreenWork):
    """The lanes of one ledger screen.

    Args:
        engine: What is asked.
        post: Takes messages from any thread.
    """

    def __init__(self, engine: WorkbenchEngine, post: Callable[[Message], object]) -> None:
        super().__init__(engine, post)
        self._reads: Lane[None, EntriesRead] = self.lane(
            lambda _none: self._read(),
            lambda _none, read: read,
            lambda _none, error: EntriesRead(problem=error),
        )
        self._checks: Lane[str, EntryChecked] = self.lane(
            self._check,
            lambda _sha256, checked: checked,
            lambda sha256, error: EntryChecked(sha256, problem=error),
        )
        self._verifies: Lane[None, Tally] = self.lane(
            lambda _none: self._verify(), lambda _none, tally: Verified(tally), self._not_verified
        )
        self._restores: Lane[tuple[str, ...], None] = self.lane(
            self._restore, lambda _names, _none: None, merge=lambda waiting, new: waiting + new, finish=True
        )
        self._rebuilds: Lane[None, str] = self.lane(
            lambda _none: self._rebuild(), lambda _none, said: Said(said), finish=True
        )

    def read(self) -> None:
        """Reads the ledger: ``EntriesRead``."""
        self._reads.ask(None)

    def check(self, sha256: str) -> None:
        """Holds an entry against the files, the newest wish first: ``EntryChecked``."""
        self._checks.ask(sha256)

    def verify(self) -> bool:
        """Holds all of them against the files: ``Verifying``, ``Verified``; ``False`` while it does."""
        if self._verifies.busy:
            return False
        self._verifies.ask(None)
        return True

    def restore(self, sha256: str) -> None:
        """Brings a conversation back, then says so: ``LedgerChanged``."""
        self._restores.ask((sha256,))

    def rebuild(self) -> None:
        """Makes the ledger anew, then says so: ``LedgerChanged``."""
        self._rebuilds.ask(None)

    def _read(self) -> EntriesRead:
        try:
            return EntriesRead(dict(self._engine.knowledge.ledger.entries()))
        except LedgerBroken as error:
            return EntriesRead(problem=str(error), broken=True)

    def _check(self, sha256: str) -> EntryChecked:
        checked = self._engine.knowledge.check(sha256)
        held, waiting = set(checked.entry.held), 0
        if held:
            waiting = sum(each.id in held for each in self._engine.knowledge.review.queue.waiting())
        return EntryChecked(sha256, checked, waiting)

    def _verify(self) -> Tally:
        found: list[CheckedEntry] = []
        for each in self._engine.knowledge.verify():
            found.append(each)
            if not len(found) % STEP:
                self._post(Verifying(len(found)))
            if not self.listening:
                break
        return Tally.of(found)

    def _not_verified(self, _none: None, error: str) -> Message:
        self._post(Said(error, trouble=True))
        return Verified()

    def _restore(self, names: tuple[str, ...]) -> None:
        for sha256 in names:
            try:
                path = self._engine.knowledge.reclaimer.restore(sha256)
            except (AutopoiesisError, OSError) as error:
                self._post(Said(str(error), trouble=True))
            else:
                self._post(Said(f"{path} is back, sha256 {sha256[:12]}; no harvest touches it from now on"))
            self._post(LedgerChanged())

    def _rebuild(self) -> str:
        try:
            entries, from_history = self._engine.knowledge.ledger.rebuild()
        finally:
            self._post(LedgerChanged())
        known = plural(entries, "entry", "entries")
        return f"the ledger is rebuilt: {known}, {count(from_history)} of them from the history"
