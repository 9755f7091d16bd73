"""A person's decision on what waits: accepted, edited or turned down (design 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.apply import apply
from engine.knowledge.item import ITEM_CHARACTERS
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerLine
from engine.knowledge.plan import plan

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.edit import Edit, Known
    from engine.knowledge.ledger import Ledger
    from engine.knowledge.review import ReviewQueue, Waiting
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

Commit = Callable[[Sequence[str], str], "ChangeCommit"]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What became of an item.

    Attributes:
        waiting: The item as it waited.
        line: The line it became; empty where it was turned down or stood there already.
        path: Where that stands, or where the same stood already.
        number: On which line, from 1; 0 for none.
        known: It stood there already.
        commit: The commit's object name; empty where none was made.
        uncommitted: Why none was made.
    """

    waiting: Waiting
    line: str = ""
    path: str = ""
    number: int = 0
    known: bool = False
    commit: str = ""
    uncommitted: str = ""


class Reviewing:
    """What a face settles the queue with. Safe to use from several processes.

    Args:
        files: The workspace's write path.
        queue: What waits.
        ledger: Takes note of lines that were accepted.
        digest: Made anew after an item was accepted.
        commit: Commits files, with a message.
        on_problem: Told of what stops nothing.
    """

    def __init__(
        self,
        files: Files,
        queue: ReviewQueue,
        ledger: Ledger,
        digest: Digest,
        commit: Commit,
        on_problem: Callable[[str], None],
    ) -> None:
        self.queue = queue
        self._files = files
        self._ledger = ledger
        self._digest = digest
        self._commit = commit
        self._on_problem = on_problem

    def accept(self, name: str, text: str = "") -> Reviewed:
        """Makes an item knowledge. What stands there already is not written again.

        Args:
            name: The item's id, or the beginning of it.
            text: What is written in its place; the item's own text when left out.

        Raises:
            HarvestRefused: No item is called so, or the text is no single line.
            DocumentError, WriteFailed, ReadOnly: It was not written; it still waits.
        """
        with self._files.lock():
            waiting = self.queue.get(name)
            item = waiting.item
            if text:
                item = replace(item, text=_line(text))
            decided = plan((item,), waiting.origin, self._files, held=lambda _item: "")
            done = Reviewed(waiting)
            for edit in decided.edits:
                done = self._written(waiting, edit)
            for known in decided.known:
                done = _stood_there(waiting, known)
            self.queue.settle(waiting.id, "accepted", item.text if text else "")
            return self._committed(done, f"memory: accepted from {waiting.origin.name}: {item.text[:60]}")

    def reject(self, name: str) -> Reviewed:
        """Turns an item down; it never comes back.

        Raises:
            HarvestRefused: No item is called so.
            WriteFailed, ReadOnly: It still waits.
        """
        with self._files.lock():
            waiting = self.queue.get(name)
            self.queue.settle(waiting.id, "rejected")
            return self._committed(Reviewed(waiting), f"memory: turned down from {waiting.origin.name}")

    def _written(self, waiting: Waiting, edit: Edit) -> Reviewed:
        applied = apply(self._files, edit)
        self._noted(waiting, LedgerLine(edit.id, edit.path, edit.line))
        return Reviewed(waiting, edit.line, edit.path, applied.line)

    def _noted(self, waiting: Waiting, line: LedgerLine) -> None:
        """The ledger proves this line as well; one that cannot be read does not keep it from standing."""
        try:
            entry = self._ledger.get(waiting.sha256)
            if entry is not None and line not in entry.lines:
                counts = dict(entry.items)
                counts[waiting.item.category] = counts.get(waiting.item.category, 0) + 1
                self._ledger.change(waiting.sha256, lines=(*entry.lines, line), items=counts)
        except AutopoiesisError as error:
            self._on_problem(f"the ledger does not have an accepted line: {error}")

    def _committed(self, done: Reviewed, message: str) -> Reviewed:
        paths = [*self.queue.paths]
        if done.line:
            paths += [done.path, LEDGER]
            try:
                if self._digest.regenerate():
                    paths += self._digest.paths
            except AutopoiesisError as error:
                self._on_problem(f"the digest was not made anew: {error}")
        made = self._commit(paths, message)
        return replace(done, commit=made.revision, uncommitted=made.why)


def _stood_there(waiting: Waiting, known: Known) -> Reviewed:
    return Reviewed(waiting, path=known.path, number=known.number, known=True)


def _line(text: str) -> str:
    """A text that a person wrote in an item's place, as one line.

    Raises:
        HarvestRefused: It cannot be one.
    """
    line = " ".join(text.split())
    if not line:
        raise HarvestRefused("an item cannot be empty", cure="turn it down: autopoiesis review reject")
    if len(line) > ITEM_CHARACTERS:
        raise HarvestRefused(
            f"has {len(line):,} characters, more than {ITEM_CHARACTERS}", cure="shorten it, or make two of it"
        )
    return line
