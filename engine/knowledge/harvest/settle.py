"""Writes the findings of a harvest; a killed run loses and duplicates nothing (design 6.2).

The steps for each conversation, under the workspace's lock: journal, lines (each checked after writing),
held items, ledger, delete the journal. All steps are repeatable, so a leftover journal is simply worked
through again. The digest and the commit follow once, at the end of the run; what a killed run did not commit,
the next one does first.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.apply import write_all
from engine.knowledge.harvest.reading import safe_name
from engine.knowledge.harvest.report import Result
from engine.knowledge.item import CATEGORIES, Item, Origin, counted, normalised
from engine.knowledge.journal import Journal, Work, decoded, encoded
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.knowledge.review import pending_items
from engine.redaction.detect import masked, redact
from engine.store.change import ChangeCommit
from engine.store.commit_message import SUBJECT, commit_message
from engine.store.paths import transcript_name

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.ledger import Ledger
    from engine.knowledge.review import ReviewQueue
    from engine.store.files import Files

JOURNALS = "scratch/harvest"
"""Folder of the journals of harvests that are being written."""
_NAME = 40
"""Minimum characters of a conversation's name in a commit's subject."""

Commit = Callable[[Sequence[str], str], "ChangeCommit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Work):
    """The findings of a harvest in one conversation."""

    sha256: str  # of the conversation's bytes
    path: str  # workspace-relative
    entry: LedgerEntry  # without lines, which are known only after writing
    day: str = ""  # of the session, as in its lines; of the harvest if that is unknown


@dataclass(eq=False)
class Settler:
    """Writes findings."""

    files: Files
    ledger: Ledger
    review: ReviewQueue
    digest: Digest
    commit: Commit
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[Finding]:
        lost = "its conversation will be harvested again"
        return Journal(self.files, JOURNALS, encoded, partial(decoded, Finding), lost, self.on_problem)

    def settle(self, finding: Finding) -> Result:
        """Writes a finding.

        Raises:
            WriteFailed, ReadOnly: It was not written completely; ``recover`` does the rest.
            LedgerBroken: The ledger is damaged or lost; ``recover`` does the rest once it is fixed.
        """
        journal = finding.sha256[:16]
        with self.files.lock():
            self._journal.keep(journal, finding)
            return self._settle(journal, finding)

    def recover(self) -> list[Result]:
        """Finishes interrupted findings.

        Raises:
            WriteFailed, ReadOnly, LedgerBroken: One cannot be finished now; its journal is kept.
        """
        return self._journal.finish(self._settle)

    def commit_left(self) -> None:
        """Commits uncommitted knowledge, so that a harvest's commit contains only its own changes: what
        killed runs and failed commits left, and edits by a person. The digest is updated first.
        """
        self.digest.follow(self.on_problem)
        entries = self.ledger.entries().values()
        lines = dict.fromkeys(line.path for entry in entries for line in entry.lines)
        written = (LEDGER, *lines, *self.digest.paths, *self.review.paths)
        missing = [entry.path for entry in entries if entry.deleted and not self._exists(entry.path)]
        paths = [*filter(self._exists, written), *missing]
        self.commit(paths, commit_message("memory", "knowledge as it stood before a harvest"))

    def commit_run(self, results: Collection[Result]) -> ChangeCommit:
        """Commits the results of a run, after updating the digest. It includes what other programs have just
        harvested from the same conversations, which must be in the history before these are reclaimed.
        """
        entries = [each.entry for each in results if each.outcome == "harvested" and each.entry is not None]
        if not entries:
            return ChangeCommit()
        digest = self.digest.paths if self.digest.follow(self.on_problem) else ()
        lines = dict.fromkeys(line.path for entry in entries for line in entry.lines)
        new = [each for each in results if each.is_new]
        sources = [path for each in new for path in self._source(each.path)]
        paths = (*filter(self._exists, (LEDGER, *lines, *self.review.paths)), *digest, *sources)
        return self.commit(paths, message_of(new))

    def _exists(self, path: str) -> bool:
        return self.files.workspace.root.joinpath(path).is_file()

    def _settle(self, journal: str, finding: Finding) -> Result:
        origin = Origin(safe_name(finding.path), finding.day or finding.entry.at[:10])
        written, refused = write_all(self.files, finding.edits)
        lines = [LedgerLine(edit.id, edit.path, edit.line) for edit in written]
        waiting = (
            *finding.waiting,
            *pending_items(
                refused, at=finding.entry.at, origin=origin, source=finding.path, sha256=finding.sha256
            ),
        )
        queued = self.review.put(waiting)
        entry, items = self._entry(finding, lines, queued.ids)
        self.ledger.record(finding.sha256, entry)
        self._journal.drop(journal)
        return Result(finding.path, entry.size, "harvested", entry, is_new=True, items=items, held=queued.new)

    def _entry(
        self, finding: Finding, lines: Sequence[LedgerLine], waiting: Sequence[str]
    ) -> tuple[LedgerEntry, Mapping[str, int]]:
        """The ledger entry, including the lines of an earlier harvest, and the counts of the new lines."""
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

    def _source(self, path: str) -> Sequence[str]:
        """The conversation itself is committed, too, unless it contains a secret."""
        with contextlib.suppress(FileNotFoundError, AutopoiesisError):
            if not holds_secret(self.files.read(path)):
                return (path,)
        return ()


def holds_secret(data: bytes) -> bool:
    """True if a file contains what looks like a key or a password."""
    return bool(redact(data.decode("utf-8", "replace"))[1])


def message_of(results: Sequence[Result]) -> str:
    """The commit message for a harvest (spec 10.1); it names conversations in which it found something."""
    items: Counter[str] = Counter()
    for each in results:
        items.update(each.items)
    held = sum(each.held for each in results)
    what = ", ".join([*counted(items), *([f"{held:,} for review"] if held else [])]) or "nothing new"
    name = f"{len(results):,} conversations"
    if len(results) == 1:
        name = transcript_name(safe_name(results[0].path))[1]
        room = max(_NAME, SUBJECT - len(commit_message("memory", f"harvest of : {what}")))
        if len(name) > room:
            name = f"{name[: room - 1].rstrip('-')}…"
    found = [each.path for each in results if any(each.items.values()) or each.held]
    return commit_message("memory", f"harvest of {name}: {what}", sessions=found)


EXCERPT = 240
"""Characters of the line to keep."""

_WORD = re.compile(r"[^\W_]{2,}")
_TOOL = re.compile(r'\[tool:|"(?:command|cmd|arguments|tool_use)"')
"""Marks a tool call in a transcript or log."""
_MIN_SHARE = 0.34
"""Share of an item's words that a line must contain to count as its origin."""


def find_source_line(item: Item, data: bytes) -> tuple[int, str]:
    """The number, from 1, and an excerpt of the first line with the most words of an item; 0 and an empty
    string if no line has enough of them. For a command, the last line that ran it.
    """
    wanted = set(_words(item.text))
    if not wanted:
        return 0, ""
    lines = data.decode("utf-8", "replace").split("\n")
    steps = item.text.partition("**: ")[2]
    if steps:
        for number, line in reversed(tuple(enumerate(lines, 1))):
            if steps in line and _TOOL.search(line):
                return number, _excerpt(line.strip(), set(_words(steps)))
    best, found = 0, (0, "")
    for number, line in enumerate(lines, 1):
        shared = len(wanted.intersection(_words(line)))
        if shared > best:
            best, found = shared, (number, line)
    if best < _MIN_SHARE * len(wanted):
        return 0, ""
    number, line = found
    return number, _excerpt(line.strip(), wanted)


def _words(text: str) -> list[str]:
    return _WORD.findall(normalised(text))


def _excerpt(line: str, wanted: set[str]) -> str:
    """The part of a line with the words; all of it if it is short."""
    if len(line) <= EXCERPT:
        return line
    line = masked(line)  # part of a key is no longer recognized as one
    starts = [match.start() for match in _WORD.finditer(line) if match[0].casefold() in wanted]
    # The window with the most words starts at one of them.
    counts = (bisect_left(starts, place + EXCERPT) - number for number, place in enumerate(starts))
    _, best = max(zip(counts, starts, strict=True), key=lambda each: each[0], default=(0, 0))
    start = max(0, best - 8)
    text = line[start : start + EXCERPT]
    return f"{'…' if start else ''}{text}{'…' if start + EXCERPT < len(line) else ''}"
