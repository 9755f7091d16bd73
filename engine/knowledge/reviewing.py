"""Carries out a person's decisions on pending items: accept, edit or reject (design 6.4).

The steps, under the workspace's lock: journal, lines, ledger, verdict, digest, commit, delete the journal.
All steps are repeatable, so after a kill the journal is simply worked through again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError, HarvestRefused, ReadOnly, WriteFailed
from engine.knowledge.apply import is_there, write
from engine.knowledge.category_files import CATEGORY_FILES
from engine.knowledge.file_changes import carry_out, refuse_unfit
from engine.knowledge.item import ITEM_CHARACTERS, Edit
from engine.knowledge.journal import Journal
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerLine
from engine.knowledge.pages import is_page
from engine.knowledge.plan import plan
from engine.knowledge.review import Verdict
from engine.provenance.disguise import is_disguised
from engine.provenance.instructions import is_hostile_act, is_instruction
from engine.redaction.detect import secrets_in
from engine.store.commit_message import commit_message
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.ledger import Ledger
    from engine.knowledge.review import PendingItem, ReviewQueue
    from engine.store.change import Commit
    from engine.store.files import Files

JOURNALS = "scratch/review"
"""Folder of the journals of decisions in progress."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """The content of a journal."""

    id: str
    verdict: Verdict
    text: str = ""  # the edited text; empty if unchanged
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """The result of a decision."""

    waiting: PendingItem
    line: str = ""  # the line written; empty if it was rejected or already there
    path: str = ""  # the file with that line or an equivalent one
    number: int = 0  # from 1; 0 for none
    known: bool = False  # it was already there
    settled: bool = False  # it had already been decided this way
    paths: tuple[str, ...] = ()  # the files changed, if it is a file change
    commit: str = ""  # hash; empty if there is no commit
    uncommitted: str = ""  # why there is no commit


@dataclass(eq=False)
class Reviewing:
    """Accepts and rejects pending items. Safe to use from several processes."""

    files: Files
    queue: ReviewQueue
    ledger: Ledger
    digest: Digest
    commit: Commit
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[tuple[_Decision, PendingItem]]:
        lost = "the item is still pending"
        return Journal(self.files, JOURNALS, self._read, lost, self.on_problem, lambda work: asdict(work[0]))

    def accept(self, name: str, text: str = "", *, sure: bool = False) -> ReviewResult:
        """Writes an item to the knowledge files, unless an equivalent entry exists.

        ``name`` is the item's id or the start of it. ``text`` replaces the item's text; ``sure`` confirms a
        risky item.

        Raises:
            HarvestRefused: No item has that id, the text is not a valid line or contains a secret, or the
            item
                is risky and ``sure`` is not set.
            ChangeRefused: It is a file change, and the files have changed since.
            DocumentError, WriteFailed, ReadOnly: It was not written and is still pending.
        """
        with self.files.lock():
            line = _line(text) if text else ""
            finished = self._finished(name, "accepted", line)
            if finished is not None:
                return finished
            waiting = self.queue.get(name)
            if not sure and is_risky(waiting, line):
                raise HarvestRefused(
                    f"{waiting.id} {waiting.why}",
                    hint=f"read it; to accept it anyway: autopoiesis review accept {waiting.id} --sure",
                )
            if waiting.change is not None:
                if line:
                    raise HarvestRefused(
                        "a file change can only be accepted as is", hint="edit the file afterwards"
                    )
                refuse_unfit(self.files, waiting.change)
                return self._decided(_Decision(waiting.id, "accepted"), waiting)
            item = replace(waiting.item, text=line) if line else waiting.item
            decided = plan((item,), waiting.origin, self.files, held=lambda _item: None)
            known = next(iter(decided.known), None)
            existing = (
                None
                if known is None
                else ReviewResult(waiting, path=known.path, number=known.number, known=True)
            )
            decision = _Decision(waiting.id, "accepted", line, decided.edits)
            return self._decided(decision, waiting, existing)

    def reject(self, name: str) -> ReviewResult:
        """Rejects an item; it never comes back.

        Raises:
            HarvestRefused: No item has that id.
            WriteFailed, ReadOnly: It is still pending.
        """
        with self.files.lock():
            finished = self._finished(name, "rejected")
            if finished is not None:
                return finished
            waiting = self.queue.get(name)
            return self._decided(_Decision(waiting.id, "rejected"), waiting)

    def recover(self) -> tuple[ReviewResult, ...]:
        """Finishes interrupted decisions.

        Raises:
            DocumentError, WriteFailed: One cannot be finished now; its journal is kept.
        """
        return tuple(self._journal.finish(lambda name, work: self._settled(name, *work)))

    def _read(self, tree: Any) -> tuple[_Decision, PendingItem]:
        """The decision in a journal and its item; raises as ``typed``, or ``KeyError`` if there is none."""
        decision = typed(_Decision, tree)
        return decision, {each.id: each for each in self.queue.all()}[decision.id]

    def _finished(self, name: str, verdict: Verdict, text: str = "") -> ReviewResult | None:
        """The result of the same decision made earlier, if any; uncommitted parts of it are committed."""
        for each in self.recover():
            if name and each.waiting.id.startswith(name) and each.waiting.verdict == verdict:
                return each
        found = [each for each in self.queue.all() if name and each.id.startswith(name)]
        if len(found) != 1 or found[0].verdict != verdict or found[0].text != text:
            return None
        places = [file.path for file in CATEGORY_FILES]
        if found[0].change is not None:
            places += found[0].change.paths
        elif is_page(found[0].item.path):
            places.append(found[0].item.path)
        self.digest.follow(self.on_problem)  # an interrupted run may not have done so
        written = (*self.queue.paths, LEDGER, *places, *self.digest.paths)
        root = self.files.workspace.root
        paths = [path for path in dict.fromkeys(written) if root.joinpath(path).is_file()]
        made = self.commit(paths, _message(found[0], verdict, text))
        return ReviewResult(found[0], settled=True, commit=made.revision, uncommitted=made.why)

    def _decided(
        self, decision: _Decision, waiting: PendingItem, known: ReviewResult | None = None
    ) -> ReviewResult:
        self._journal.keep(decision.id, (decision, waiting))
        try:
            return self._settled(decision.id, decision, waiting, known)
        except AutopoiesisError:
            # If nothing was written, the item stays pending; otherwise the next decision finishes this one.
            if waiting.change is None and not any(is_there(self.files, edit) for edit in decision.edits):
                with contextlib.suppress(AutopoiesisError, FileNotFoundError):
                    self._journal.drop(decision.id)
            raise

    def _settled(
        self, journal: str, decision: _Decision, waiting: PendingItem, known: ReviewResult | None = None
    ) -> ReviewResult:
        """Carries out a decision and drops its journal. Repeatable; the caller holds the lock."""
        done = known or ReviewResult(waiting)
        for edit in decision.edits:
            done = self._written(waiting, edit)
        if waiting.change is not None and decision.verdict == "accepted":
            done = ReviewResult(waiting, paths=carry_out(self.files, waiting.change, self.on_problem))
        if not waiting.verdict:
            self.queue.settle(waiting.id, decision.verdict, decision.text)
        done = self._commit(done, _message(waiting, decision.verdict, decision.text))
        self._journal.drop(journal)
        return replace(done, waiting=replace(waiting, verdict=decision.verdict, text=decision.text))

    def _written(self, waiting: PendingItem, edit: Edit) -> ReviewResult:
        applied = write(self.files, edit)
        self._record_in_ledger(waiting, LedgerLine(edit.id, edit.path, edit.line))
        return ReviewResult(waiting, edit.line, edit.path, applied.line)

    def _record_in_ledger(self, waiting: PendingItem, line: LedgerLine) -> None:
        """Adds an accepted line to the ledger; an unreadable ledger is only reported.

        Raises:
            WriteFailed, ReadOnly: It was not recorded; the next decision does so.
        """
        try:
            entry = self.ledger.get(waiting.sha256)
            if entry is not None and waiting.item.category != "pages" and line not in entry.lines:
                counts = dict(entry.items)
                counts[waiting.item.category] = counts.get(waiting.item.category, 0) + 1
                self.ledger.change(waiting.sha256, lines=(*entry.lines, line), items=counts)
        except (WriteFailed, ReadOnly):
            raise
        except AutopoiesisError as error:
            self.on_problem(f"an accepted line was not recorded in the ledger: {error}")

    def _commit(self, done: ReviewResult, message: str) -> ReviewResult:
        paths = [*self.queue.paths, *done.paths]
        if done.paths:
            self.digest.follow(self.on_problem)
            paths += self.digest.paths
        if done.line:
            self.digest.follow(self.on_problem)
            paths += [done.path, LEDGER, *self.digest.paths]
        made = self.commit(paths, message)
        return replace(done, commit=made.revision, uncommitted=made.why)


def _message(waiting: PendingItem, verdict: Verdict, text: str = "") -> str:
    """The commit message for a decision."""
    if waiting.change is not None:  # no conversation taught it
        what = waiting.item.text if verdict == "accepted" else f"rejected: {waiting.item.text}"
        return commit_message("maintenance", what)
    what = f"rejected from {waiting.origin.name}"
    if verdict == "accepted":
        what = f"accepted from {waiting.origin.name}: {text or waiting.item.text}"
    return commit_message("memory", what, sessions=filter(None, [waiting.source]))


def is_risky(waiting: PendingItem, text: str = "") -> bool:
    """True if accepting an item needs a second confirmation.

    If a person has edited the text, their words are judged by themselves.
    """
    if text and text != waiting.item.text:
        return is_instruction(text) or is_disguised(text) or is_hostile_act(text)
    return waiting.group == "risky"


def _line(text: str) -> str:
    """A text edited by a person, as one line; raises ``HarvestRefused`` if it is not usable."""
    line = " ".join(text.split())
    if not line:
        raise HarvestRefused("an item cannot be empty", hint="to reject it: autopoiesis review reject")
    if len(line) > ITEM_CHARACTERS:
        raise HarvestRefused(
            f"the text has {len(line):,} characters, more than {ITEM_CHARACTERS}",
            hint="shorten it, or split it",
        )
    if found := secrets_in(line):
        raise HarvestRefused(
            f"the text contains what looks like a {found[0].kind}, and knowledge is committed",
            hint="replace it with [secret], as capture.redact does",
        )
    return line
