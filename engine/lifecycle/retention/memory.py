"""MEMORY.md kept below its cap: what goes to ``archive/memory/``, and why (spec 8.5, design 3.11)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.context.sources import MEMORY
from engine.knowledge.category_files import Entry, entries
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.session_notes import MEMORY_BYTES
from engine.knowledge.similarity import SimilarEntries
from engine.knowledge.superseding import superseded
from engine.store.header import locate

WARN_AT = 0.9
"""Share of the cap from which something is said, and down to which a pruning goes: 180 lines of 200."""

_DATED = re.compile(r"^(\d{4}-\d\d-\d\d)\b[:\s—–-]*")
_REVERSED = re.compile(r"\((?:reversed|superseded|replaced)\b[^()]*\)\s*$", re.IGNORECASE)
_UPDATED = re.compile(r"updated:[ \t]*\S")


@dataclass(frozen=True, slots=True)
class Going:
    """An entry that leaves a file."""

    path: str
    number: int  # its line, from 1
    line: str
    why: str


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What is to become of MEMORY.md."""

    lines: int
    size: int  # bytes
    cap: int  # lines
    going: tuple[Going, ...] = ()
    lines_after: int = 0
    size_after: int = 0
    change: FileChange | None = None

    @property
    def is_over(self) -> bool:
        """Whether it is longer than an agent reads."""
        return self.lines > self.cap or self.size > MEMORY_BYTES

    @property
    def is_near(self) -> bool:
        """Whether it is so long that something is said."""
        return self.lines >= WARN_AT * self.cap or self.size >= WARN_AT * MEMORY_BYTES

    @property
    def stays_over(self) -> bool:
        """Whether it is too long even afterwards: what is left has no date, and is for a person to
        shorten.
        """
        return self.lines_after > self.cap or self.size_after > MEMORY_BYTES


def day_of(entry: Entry) -> str:
    """The day in front of an entry; empty where it has none."""
    found = _DATED.match(entry.text)
    return found[1] if found else ""


def said(entry: Entry) -> str:
    """What an entry says without the day in front of it."""
    return _DATED.sub("", entry.text, count=1)


def plan_memory(data: bytes, others: Iterable[Entry], cap: int, now: datetime) -> MemoryPlan:
    """What would leave MEMORY.md so that it is well below its cap; nothing while it is no longer than that.

    First what is superseded, said twice or captured elsewhere, all of it; then, as long as it is still too
    long, the oldest dated entries. Undated ones never go by themselves.

    Args:
        others: The entries of more specific files.
    """
    lines, size = data.count(b"\n") + (not data.endswith(b"\n")), len(data)
    blank = MemoryPlan(lines, size, cap, (), lines, size)
    if not (blank.is_over or blank.is_near):
        return blank
    found = entries(data, MEMORY)
    reasons = dict(_needless(found, list(others)))
    lines_left = lines - sum(len(entry.lines) for entry in reasons)
    size_left = size - sum(map(_size, reasons))
    oldest = sorted((entry for entry in found if entry not in reasons and day_of(entry)), key=day_of)
    for entry in oldest:
        if lines_left <= WARN_AT * cap and size_left <= WARN_AT * MEMORY_BYTES:
            break
        reasons[entry] = f"of {day_of(entry)}, the oldest of those that are left"
        lines_left -= len(entry.lines)
        size_left -= _size(entry)
    gone = [entry for entry in found if entry in reasons]
    if not gone:
        return blank
    about = f"MEMORY.md from {lines} to {lines_left} lines: {len(gone)} entries to the archive"
    steps = [*leaving(gone, data, now.year), *header_steps(data, now)]
    going = tuple(Going(MEMORY, entry.number, entry.raw, reasons[entry]) for entry in gone)
    return replace(
        blank,
        going=going,
        lines_after=lines_left,
        size_after=size_left,
        change=FileChange(tuple(steps), (about, *(f"line {each.number}: {each.why}" for each in going))),
    )


def leaving(gone: Sequence[Entry], data: bytes, year: int) -> Iterator[Step]:
    """The steps by which entries leave a file for the archive: there first, then gone here.

    ``data`` is the file, ``year`` that of an entry without a day.
    """
    for entry in gone:
        at, name = day_of(entry)[:4] or str(year), entry.path.rpartition("/")[2].removesuffix(".md")
        place = f"archive/memory/{at}.md" if entry.path == MEMORY else f"archive/merged/{at}.md"
        section = (entry.section or "Entries") if entry.path == MEMORY else entry.path
        title = f"---\ntype: memory\n---\n\n# {name if entry.path == MEMORY else 'Merged entries'}, {at}"
        yield Step("add", place, "\n".join(entry.lines), section=section, title=title)
    there = Counter("\n".join(entry.lines) for entry in entries(data, gone[0].path)) if gone else Counter()
    for entry in gone:
        text = "\n".join(entry.lines)
        there[text] -= 1
        yield Step("drop", entry.path, text, left=there[text])


def header_steps(data: bytes, now: datetime) -> Iterator[Step]:
    """The step that has a header say that the file is changed now; how long it is, every write brings up to
    date.
    """
    for line in data[: locate(data).body].decode("utf-8", "replace").splitlines():
        new = f"updated: {now:%Y-%m-%dT%H:%M:%SZ}"
        if _UPDATED.match(line) and line != new:
            yield Step("swap", MEMORY, new, old=line)


def _needless(found: Sequence[Entry], others: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Entries that something else says, or ends."""
    later = superseded(found)
    seen = SimilarEntries()
    plain = SimilarEntries([replace(entry, text=said(entry)) for entry in others])
    for entry in sorted(found, key=lambda each: (day_of(each), each.number), reverse=True):
        text = said(entry)
        if entry in later or _REVERSED.search(entry.text):
            yield entry, f"superseded by line {later[entry].number}" if entry in later else "superseded"
        elif twin := seen.find(text):
            yield entry, f"line {twin.entry.number} says the same"
        elif other := plain.find(text):
            yield entry, f"captured in {other.entry.path}:{other.entry.number}"
        else:
            seen.add(replace(entry, text=text))


def _size(entry: Entry) -> int:
    return sum(len(line.encode("utf-8")) + 1 for line in entry.lines)
