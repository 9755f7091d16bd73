"""File changes proposed by the upkeep jobs: shown, then applied or submitted for review (design 3.12)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, ChangeRefused
from engine.knowledge.file_changes import FileChange, diff, refuse_unfit
from engine.knowledge.item import Item, Origin
from engine.knowledge.proposed import WHY
from engine.knowledge.review import PendingItem
from engine.redaction.detect import secrets_in
from engine.store.change import commit_message

if TYPE_CHECKING:
    from datetime import datetime

    from engine.knowledge.file_changes import ChangeResult
    from engine.knowledge.knowledge import Knowledge
    from engine.store.files import Files


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed change of files."""

    subject: str  # such as ``journal-2026-06-12``; a newer proposal replaces one with the same subject
    summary: str  # one line
    change: FileChange | None = None  # ``None`` if there is nothing to do
    why: str = WHY["upkeep"]  # why it needs review; any other value prevents applying it directly
    refused: str = ""  # why a model's reply was rejected, one clause
    left: tuple[str, ...] = ()  # what was left out, one line each
    diff: tuple[str, ...] = ()
    model: str = ""  # the model that worded it, if any

    @property
    def must_wait(self) -> bool:
        """True if it always needs review: it may come from an outsider or do harm."""
        return self.why != WHY["upkeep"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a proposal."""

    proposal: Proposal
    applied: bool = False
    waiting: str = ""  # its id in the review queue, if it is pending there
    known: str = ""  # an earlier verdict on it
    commit: str = ""  # object name, if there is a commit
    uncommitted: str = ""  # why there is no commit
    error: str = ""  # why it could not be applied

    @property
    def undo(self) -> str:
        """The command that undoes it; empty if there is nothing to undo."""
        return f"git revert {self.commit[:8]}" if self.commit else ""


def proposer(subject: str) -> str:
    """The upkeep job that proposes changes with a subject."""
    return "pruning" if subject == "memory-cap" or subject.endswith("-to-the-archive") else "condensing"


def shown(files: Files, proposal: Proposal) -> Proposal:
    """A proposal with its diff; refused if it cannot be applied or would commit a secret."""
    if proposal.change is None:
        return proposal
    try:
        refuse_unfit(files, proposal.change)
        lines = diff(files, proposal.change)
        if not lines:
            return replace(proposal, change=None)
        if any(secrets_in(step.text) or secrets_in(step.old) for step in proposal.change.steps):
            raise ChangeRefused("contains what looks like a secret", hint="see: autopoiesis secrets")
    except AutopoiesisError as error:
        return replace(proposal, change=None, refused=str(error))
    return replace(proposal, diff=tuple(lines))


def apply(knowledge: Knowledge, proposals: Iterable[Proposal]) -> list[Outcome]:
    """Applies changes, each as one commit; those that need review are submitted instead.

    Raises:
        WriteFailed, ReadOnly: One was not completed; a rerun finishes it.
    """
    done: list[Outcome] = []
    for proposal in proposals:
        if proposal.change is None:
            done.append(Outcome(proposal))
        elif proposal.must_wait:
            done += submit(knowledge, [proposal])
        else:
            try:
                made: ChangeResult = knowledge.changes.make(
                    proposal.change, commit_message("maintenance", proposal.summary)
                )
            except ChangeRefused as error:
                done.append(Outcome(proposal, error=str(error)))
            else:
                done.append(Outcome(proposal, True, commit=made.commit, uncommitted=made.uncommitted))
    return done


def submit(knowledge: Knowledge, proposals: Iterable[Proposal]) -> list[Outcome]:
    """Adds changes to the review queue, replacing older ones with the same subject.

    Raises:
        WriteFailed, ReadOnly: They were not recorded.
    """
    queue, now = knowledge.review.queue, knowledge.clock()
    done: list[Outcome] = []
    with knowledge.files.lock():
        for proposal in proposals:
            if proposal.change is None:
                done.append(Outcome(proposal))
                continue
            each = waiting_of(proposal, now)
            queue.put([each])
            verdict = next(known.verdict for known in queue.all() if known.id == each.id)
            for older in () if verdict else queue.waiting():
                if older.change is not None and older.origin.name == proposal.subject and older.id != each.id:
                    queue.settle(older.id, "replaced")
            done.append(Outcome(proposal, waiting="" if verdict else each.id, known=verdict))
    return done


def waiting_of(proposal: Proposal, now: datetime) -> PendingItem:
    """A proposal as an item of the review queue."""
    assert proposal.change is not None
    # The id ignores the time in a header, so that a rejected proposal stays rejected.
    lasting = [each for each in proposal.change.steps if not each.text.startswith("updated: ")]
    identity = f"{proposal.subject}\n{replace(proposal.change, steps=tuple(lasting)).id}"
    name = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:12]
    paths = proposal.change.paths
    path = next((each for each in paths if not each.startswith("archive/")), paths[0])
    item = Item("changes", proposal.summary, path, "agent" if proposal.model else "")
    origin = Origin(proposal.subject, now.date().isoformat())
    at = now.isoformat(timespec="seconds")
    return PendingItem(name, at, item, proposal.why, origin, path, "", change=proposal.change)
