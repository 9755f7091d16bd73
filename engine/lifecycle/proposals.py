"""What upkeep proposes: a change of files, shown first, then made or put up for a person (design 3.12)."""

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
from engine.store.commit_message import commit_message

if TYPE_CHECKING:
    from datetime import datetime

    from engine.knowledge.changing import ChangeResult
    from engine.knowledge.knowledge import Knowledge
    from engine.store.files import Files


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of files and what it is for."""

    subject: str  # what it is about, as ``journal-2026-06-12``; a newer one about the same takes its place
    summary: str  # one line
    change: FileChange | None = None  # ``None`` where there is nothing to do
    why: str = WHY["upkeep"]  # why it waits for a person; anything else keeps it from being applied at once
    refused: str = ""  # why a model's reply was not used, one clause
    left: tuple[str, ...] = ()  # what was left out, one line each
    diff: tuple[str, ...] = ()
    model: str = ""  # who worded it; empty for no model

    @property
    def must_wait(self) -> bool:
        """Whether a person has to look at it whatever was asked for: it may be an outsider's, or do harm."""
        return self.why != WHY["upkeep"]


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a proposal."""

    proposal: Proposal
    applied: bool = False
    waiting: str = ""  # the id under which it waits for a person; empty if it does not
    known: str = ""  # that it was turned down or accepted before
    commit: str = ""  # object name; empty when there is no commit
    uncommitted: str = ""  # why there is no commit
    error: str = ""  # why it could not be applied

    @property
    def undo(self) -> str:
        """The command that takes it back; empty where there is nothing to take back."""
        return f"git revert {self.commit[:8]}" if self.commit else ""


def proposer(subject: str) -> str:
    """Which part of the upkeep proposes changes about a subject."""
    return "pruning" if subject == "memory-cap" or subject.endswith("-to-the-archive") else "condensing"


def shown(files: Files, proposal: Proposal) -> Proposal:
    """A proposal with its difference; refused where it cannot be made, or would put a secret into a
    commit.
    """
    if proposal.change is None:
        return proposal
    try:
        refuse_unfit(files, proposal.change)
        lines = diff(files, proposal.change)
        if not lines:
            return replace(proposal, change=None)
        if any(secrets_in(step.text) or secrets_in(step.old) for step in proposal.change.steps):
            raise ChangeRefused("holds what looks like a secret", hint="see: autopoiesis secrets")
    except AutopoiesisError as error:
        return replace(proposal, change=None, refused=str(error))
    return replace(proposal, diff=tuple(lines))


def apply(knowledge: Knowledge, proposals: Iterable[Proposal]) -> list[Done]:
    """Makes changes, each as one commit; one that a person has to look at is put up for a person instead.

    Raises:
        WriteFailed, ReadOnly: One was not made to the end; a rerun finishes it.
    """
    done: list[Done] = []
    for proposal in proposals:
        if proposal.change is None:
            done.append(Done(proposal))
        elif proposal.must_wait:
            done += put_up(knowledge, [proposal])
        else:
            try:
                made: ChangeResult = knowledge.changes.make(
                    proposal.change, commit_message("maintenance", proposal.summary)
                )
            except ChangeRefused as error:
                done.append(Done(proposal, error=str(error)))
            else:
                done.append(Done(proposal, True, commit=made.commit, uncommitted=made.uncommitted))
    return done


def put_up(knowledge: Knowledge, proposals: Iterable[Proposal]) -> list[Done]:
    """Puts changes up for review, in the place of older ones about the same subject.

    Raises:
        WriteFailed, ReadOnly: They are not recorded.
    """
    queue, now = knowledge.review.queue, knowledge.clock()
    done: list[Done] = []
    with knowledge.files.lock():
        for proposal in proposals:
            if proposal.change is None:
                done.append(Done(proposal))
                continue
            each = waiting_of(proposal, now)
            queue.put([each])
            verdict = next(known.verdict for known in queue.all() if known.id == each.id)
            for older in () if verdict else queue.waiting():
                if older.change is not None and older.origin.name == proposal.subject and older.id != each.id:
                    queue.settle(older.id, "replaced")
            done.append(Done(proposal, waiting="" if verdict else each.id, known=verdict))
    return done


def waiting_of(proposal: Proposal, now: datetime) -> PendingItem:
    """A proposal as it waits for a person."""
    assert proposal.change is not None
    # What a header says of the time makes no other proposal of it: one that was turned down stays so.
    lasting = [each for each in proposal.change.steps if not each.text.startswith("updated: ")]
    said = f"{proposal.subject}\n{replace(proposal.change, steps=tuple(lasting)).id}"
    name = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:12]
    paths = proposal.change.paths
    path = next((each for each in paths if not each.startswith("archive/")), paths[0])
    item = Item("changes", proposal.summary, path, "agent" if proposal.model else "")
    origin = Origin(proposal.subject, now.date().isoformat())
    at = now.isoformat(timespec="seconds")
    return PendingItem(name, at, item, proposal.why, origin, path, "", change=proposal.change)
