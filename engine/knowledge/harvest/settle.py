"""Writes down what a harvest has found; a run that is killed loses and duplicates nothing (design 6.2).

The order, under the workspace's lock: journal, lines, a look whether each stands in the file that now has
the name, items that wait for review, ledger, digest, commit; last the journal goes. Every step may be
repeated, so a journal that is found is worked through from its beginning.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.apply import write_all
from engine.knowledge.harvest.reading import safe_name
from engine.knowledge.harvest.report import Result
from engine.knowledge.item import CATEGORIES, Origin, counted
from engine.knowledge.journal import Journal, Work, decoded, encoded
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.knowledge.review import waiting_for
from engine.redaction.detect import redact
from engine.store.commit_message import commit_message

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.ledger import Ledger
    from engine.knowledge.review import ReviewQueue
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

JOURNALS = "scratch/harvest"
"""Where a harvest that is being written down leaves its journal."""

Commit = Callable[[Sequence[str], str], "ChangeCommit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Work):
    """What a harvest has found in one conversation."""

    sha256: str  # of the conversation's bytes
    path: str  # workspace-relative
    entry: LedgerEntry  # without its lines, which are known only once they are written
    day: str = ""  # of the harvest, as its lines say it


@dataclass(eq=False)
class Settler:
    """Writes findings down."""

    files: Files
    ledger: Ledger
    review: ReviewQueue
    digest: Digest
    commit: Commit
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[Finding]:
        lost = "its conversation is harvested anew"
        return Journal(self.files, JOURNALS, encoded, partial(decoded, Finding), lost, self.on_problem)

    def settle(self, finding: Finding) -> Result:
        """Writes a finding down.

        Raises:
            WriteFailed, ReadOnly: It is not written down, or only in part; ``recover`` does the rest.
            LedgerBroken: The ledger is damaged or gone; ``recover`` does the rest then.
        """
        journal = finding.sha256[:16]
        with self.files.lock():
            self._journal.keep(journal, finding)
            return self._settle(journal, finding)

    def recover(self) -> list[Result]:
        """Finishes what was interrupted.

        Raises:
            WriteFailed, ReadOnly, LedgerBroken: It cannot be finished now; its journal stays.
        """
        return self._journal.finish(self._settle)

    def commit_left(self) -> None:
        """Commits what stands in knowledge uncommitted: what an earlier commit could not take, because the
        disk was full or git was busy, and what a person has edited. So a harvest's commits are its own. The
        digest follows what was edited.
        """
        self.digest.follow(self.on_problem)
        entries = self.ledger.entries().values()
        lines = dict.fromkeys(line.path for entry in entries for line in entry.lines)
        written = (LEDGER, *lines, *self.digest.paths, *self.review.paths)
        gone = [entry.path for entry in entries if entry.deleted and not self._exists(entry.path)]
        paths = [*filter(self._exists, written), *gone]
        self.commit(paths, commit_message("memory", "knowledge as it stood before a harvest"))

    def _exists(self, path: str) -> bool:
        return self.files.workspace.root.joinpath(path).is_file()

    def _settle(self, journal: str, finding: Finding) -> Result:
        origin = Origin(safe_name(finding.path), finding.day or finding.entry.at[:10])
        written, refused = write_all(self.files, finding.edits)
        lines = [LedgerLine(edit.id, edit.path, edit.line) for edit in written]
        waiting = (
            *finding.waiting,
            *waiting_for(
                refused, at=finding.entry.at, origin=origin, source=finding.path, sha256=finding.sha256
            ),
        )
        put = self.review.put(waiting)
        entry, items = self._entry(finding, lines, put.ids)
        self.ledger.record(finding.sha256, entry)
        digest = self.digest.paths if self.digest.follow(self.on_problem) else ()
        paths = [*dict.fromkeys(line.path for line in lines), LEDGER, *digest]
        if waiting:
            paths += self.review.paths
        done = self.commit([*paths, *self._source(finding)], message_of(finding.path, entry))
        self._journal.drop(journal)
        return Result(
            finding.path,
            entry.size,
            "harvested",
            entry,
            commit=done.revision,
            uncommitted=done.why,
            items=items,
            held=put.new,
        )

    def _entry(
        self, finding: Finding, lines: Sequence[LedgerLine], waiting: Sequence[str]
    ) -> tuple[LedgerEntry, Mapping[str, int]]:
        """What the ledger shall say: what was written now beside what an earlier harvest has written; and the
        counts of the former.
        """
        before = self.ledger.get(finding.sha256)
        kept = before.lines if before is not None and before.status == "harvested" else ()
        known = {line.id for line in kept}
        new = [line for line in lines if line.id not in known]
        ids = {line.id for line in new}
        counts: Counter[str] = Counter(edit.category for edit in finding.edits if edit.id in ids)
        items = dict(counts)
        if before is not None and kept:
            counts.update(before.items)
        held = (*(before.held if before is not None else ()), *waiting)
        entry = replace(
            finding.entry,
            items={name: counts.get(name, 0) for name in CATEGORIES},
            lines=(*kept, *new),
            held=tuple(dict.fromkeys(held)),
        )
        return entry, items

    def _source(self, finding: Finding) -> Sequence[str]:
        """The conversation itself belongs in the history, unless that would put a secret there."""
        with contextlib.suppress(FileNotFoundError, AutopoiesisError):
            if not holds_secret(self.files.read(finding.path)):
                return (finding.path,)
        return ()


def holds_secret(data: bytes) -> bool:
    """Whether something in a file looks like a key or a password."""
    return bool(redact(data.decode("utf-8", "replace"))[1])


def message_of(path: str, entry: LedgerEntry) -> str:
    """What the commit of a conversation's harvest says (spec 10.1)."""
    name = safe_name(path)
    what = ", ".join(counted(entry.items)) or "nothing new" if entry.status == "harvested" else entry.status
    return commit_message("memory", f"harvest of {name}: {what}", sessions=[path])
