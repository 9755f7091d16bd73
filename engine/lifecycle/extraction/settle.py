"""Writes the results of an extraction so that a crash neither loses nor duplicates anything (design 6.2).

Under the workspace's lock, in this order: journal, lines, review items, record, digest, commit; then the
journal is removed. All steps are repeatable, so a leftover journal is processed from the start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from engine.knowledge.apply import write_all
from engine.knowledge.harvest.reading import safe_name
from engine.knowledge.item import Origin
from engine.knowledge.journal import Journal, Work, decoded, encoded
from engine.knowledge.review import pending_items
from engine.lifecycle.extraction.log import ExtractionLog, ExtractionRecord, WrittenItem
from engine.store.commit_message import commit_message

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.review import ReviewQueue
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

JOURNALS = "scratch/extraction"
"""Folder for the journals of extractions in progress."""

Commit = Callable[[Sequence[str], str], "ChangeCommit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Work):
    """The results of reading a session."""

    path: str  # of the session, workspace-relative
    sha256: str  # of its bytes
    session: str  # its id; may be empty
    day: str
    records: tuple[ExtractionRecord, ...]
    """One for each extractor; ``items`` and ``held`` are filled in after writing."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The results as written."""

    path: str
    records: tuple[ExtractionRecord, ...]
    held: int = 0  # items newly added to the review queue
    commit: str = ""  # object name, if there is a commit
    uncommitted: str = ""  # why there is no commit


@dataclass(eq=False)
class Settler:
    """Writes findings to the files of a workspace."""

    files: Files
    log: ExtractionLog
    review: ReviewQueue
    digest: Digest
    commit: Commit
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[Finding]:
        lost = "its session will be read again"
        return Journal(self.files, JOURNALS, encoded, partial(decoded, Finding), lost, self.on_problem)

    def settle(self, finding: Finding) -> Settled:
        """Writes a finding.

        Raises:
            WriteFailed, ReadOnly: It was not written completely; ``recover`` does the rest.
        """
        journal = finding.sha256[:16]
        with self.files.lock():
            self._journal.keep(journal, finding)
            return self._settle(journal, finding)

    def recover(self) -> list[Settled]:
        """Finishes interrupted writes.

        Raises:
            WriteFailed, ReadOnly: One cannot be finished now; its journal stays.
        """
        return self._journal.finish(self._settle)

    def commit_left(self) -> None:
        """Commits earlier changes in the files that extractions write, such as edits by the user, so that
        they do not become part of this extraction's commits.
        """
        records = self.log.all()
        if records:
            self.digest.follow(self.on_problem)
            paths = (item.path for record in records for item in record.items)
            message = commit_message("memory", "knowledge before an extraction")
            self.commit(self._existing(*paths), message)

    def commit_record(self, sessions: int) -> None:
        """Commits the record of sessions that added nothing."""
        what = f"nothing new in {sessions:,} session{'s' if sessions > 1 else ''}"
        self.commit(self._existing(), commit_message("extract", what))

    def _existing(self, *paths: str) -> list[str]:
        written = (*paths, *self.log.paths, *self.review.paths, *self.digest.paths)
        return [path for path in dict.fromkeys(written) if (self.files.workspace.root / path).is_file()]

    def _settle(self, journal: str, finding: Finding) -> Settled:
        origin = Origin(safe_name(finding.path), finding.day, session=finding.session)
        written, refused = write_all(self.files, finding.edits)
        at = finding.records[0].at if finding.records else ""
        waiting = (
            *finding.waiting,
            *pending_items(refused, at=at, origin=origin, source=finding.path, sha256=finding.sha256),
        )
        put = self.review.put(waiting)
        held = {each.id for each in waiting}
        records = tuple(
            replace(
                record,
                items=tuple(
                    WrittenItem(edit.id, edit.path, edit.line) for edit in written if edit.id in record.ids
                ),
                held=tuple(name for name in record.ids if name in held),
            )
            for record in finding.records
        )
        self.log.append(records)
        if any(edit.category != "pages" for edit in written):
            self.digest.follow(self.on_problem)
        done = None
        if written or waiting:
            done = self.commit(self._existing(*(edit.path for edit in written)), _message(finding, records))
        self._journal.drop(journal)
        if done is None:  # the record is committed later, together with others
            return Settled(finding.path, records)
        return Settled(finding.path, records, put.new, done.revision, done.why)


def counted(records: Sequence[ExtractionRecord]) -> str:
    """The number of lines written by each extractor, such as ``decisions: 2, journal: 3``."""
    counts: Counter[str] = Counter()
    for record in records:
        counts[record.by.extractor] += len(record.items)
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items() if count)


def _message(finding: Finding, records: Sequence[ExtractionRecord]) -> str:
    """The commit message of an extraction (spec 3.2)."""
    what = counted(records) or "nothing new"
    return commit_message("extract", what, sessions=[finding.path])
