"""Records the findings of a harvest in the ledger, and commits them.

The digest and the commit follow once, at the end of the run; what a killed run did not commit, the next one
does first.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.knowledge.harvest.reading import safe_name
from engine.knowledge.harvest.report import Result
from engine.knowledge.item import CATEGORIES, Item, Origin, counted, normalised
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.knowledge.review import Locate, nowhere, pending_items
from engine.knowledge.settler import Settler, Work
from engine.redaction.detect import masked, redact
from engine.store.change import SUBJECT, ChangeCommit, commit_message
from engine.store.paths import transcript_name

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.item import HeldItem
    from engine.knowledge.ledger import Ledger
    from engine.knowledge.review import PendingItem, QueueResult
    from engine.store.files import Files

JOURNALS = "scratch/harvest"
"""Folder of the journals of harvests that are being written."""
_NAME = 40
"""Minimum characters of a conversation's name in a commit's subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Work):
    """The findings of a harvest in one conversation."""

    sha256: str  # of the conversation's bytes
    path: str  # workspace-relative
    entry: LedgerEntry  # without lines, which are known only after writing
    day: str = ""  # of the session, as in its lines; of the harvest if that is unknown

    def pending(self, held: Iterable[HeldItem], locate: Locate = nowhere) -> tuple[PendingItem, ...]:
        """As ``Work.pending``."""
        at, origin = self.entry.at, Origin(safe_name(self.path), self.day or self.entry.at[:10])
        return pending_items(held, at=at, origin=origin, source=self.path, sha256=self.sha256, locate=locate)


@dataclass(eq=False)
class HarvestSettler(Settler[Finding, Result]):
    """Writes findings; each step raises ``LedgerBroken`` if the ledger is damaged or lost."""

    kind, folder, lost = Finding, JOURNALS, "its conversation will be harvested again"

    ledger: Ledger
    digest: Digest

    def commit_left(self) -> None:
        """Commits uncommitted knowledge, so that a harvest's commit contains only its own changes: what
        killed runs and failed commits left, and edits by a person. The digest is updated first.
        """
        self.digest.follow(self.on_problem)
        entries = self.ledger.entries().values()
        lines = dict.fromkeys(line.path for entry in entries for line in entry.lines)
        deleted = {entry.path for entry in entries if entry.deleted}
        gone = deleted.difference(self.existing(*deleted))
        paths = [*self.existing(LEDGER, *lines, *self.digest.paths), *sorted(gone)]
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
        paths = (*self.existing(LEDGER, *lines), *digest, *sources)
        return self.commit(paths, message_of(new))

    def record(self, finding: Finding, queued: QueueResult) -> Result:
        """Records it in the ledger, beside the lines of an earlier harvest."""
        before = self.ledger.get(finding.sha256)
        kept = before.lines if before is not None and before.status == "harvested" else ()
        known = {line.id for line in kept}
        new = [edit for edit in finding.edits if edit.id not in known]
        counts: Counter[str] = Counter(edit.category for edit in new)
        items = dict(counts)
        if before is not None and kept:
            counts.update(before.items)
        held = (*(before.held if before is not None else ()), *queued.ids)
        entry = replace(
            finding.entry,
            items={name: counts.get(name, 0) for name in CATEGORIES},
            lines=(*kept, *(LedgerLine(edit.id, edit.path, edit.line) for edit in new)),
            held=tuple(dict.fromkeys(held)),
        )
        self.ledger.record(finding.sha256, entry)
        return Result(finding.path, entry.size, "harvested", entry, is_new=True, items=items, held=queued.new)

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


def finder(files: Files, path: str) -> Locate:
    """Finds items in a source, which is read when first needed; finds nothing if that fails."""

    @cache
    def data() -> bytes:
        try:
            return files.read(path)
        except (FileNotFoundError, AutopoiesisError):
            return b""

    return lambda item: find_source_line(item, data())


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
