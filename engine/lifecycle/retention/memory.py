"""Keeps MEMORY.md below its cap by moving entries to ``archive/memory/`` (spec 8.5, design 3.11)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.context.sources import MEMORY
from engine.knowledge.category_files import Entry, entries
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.pages import MEMORY_BYTES, line_count
from engine.knowledge.similarity import SimilarEntries, superseded
from engine.store.header import locate

WARN_AT = 0.9
"""Share of the cap that causes a warning and is the target of pruning: 180 of 200 lines."""

_DATED = re.compile(r"^(\d{4}-\d\d-\d\d)\b[:\s—–-]*")
_REVERSED = re.compile(r"\((?:reversed|superseded|replaced)\b[^()]*\)\s*$", re.IGNORECASE)
_UPDATED = re.compile(r"updated:[ \t]*\S")


@dataclass(frozen=True, slots=True)
class Going:
    """An entry to remove from a file."""

    path: str
    number: int  # its line, from 1
    line: str
    why: str


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A plan to shorten MEMORY.md."""

    lines: int
    size: int  # bytes
    cap: int  # lines
    going: tuple[Going, ...] = ()
    lines_after: int = 0
    size_after: int = 0
    change: FileChange | None = None

    @property
    def is_over(self) -> bool:
        """True if it is above the cap, so that agents do not read all of it."""
        return self.lines > self.cap or self.size > MEMORY_BYTES

    @property
    def is_near(self) -> bool:
        """True if it is near the cap."""
        return self.lines >= WARN_AT * self.cap or self.size >= WARN_AT * MEMORY_BYTES

    @property
    def stays_over(self) -> bool:
        """True if it stays above the cap: the remaining entries are undated, so edit it by hand."""
        return self.lines_after > self.cap or self.size_after > MEMORY_BYTES


def day_of(entry: Entry) -> str:
    """The date at the start of an entry; empty if it has none."""
    found = _DATED.match(entry.text)
    return found[1] if found else ""


def text_of(entry: Entry) -> str:
    """The text of an entry without its date."""
    return _DATED.sub("", entry.text, count=1)


def plan_memory(data: bytes, others: Iterable[Entry], cap: int, now: datetime) -> MemoryPlan:
    """A plan to bring MEMORY.md well below its cap; empty if it already is.

    First all superseded and duplicate entries go, then the oldest dated ones until it is short enough.
    Undated entries are never removed automatically.

    Args:
        others: The entries of more specific files.
    """
    lines, size = line_count(data), len(data)
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
        reasons[entry] = f"from {day_of(entry)}, the oldest remaining"
        lines_left -= len(entry.lines)
        size_left -= _size(entry)
    gone = [entry for entry in found if entry in reasons]
    if not gone:
        return blank
    about = f"MEMORY.md from {lines} to {lines_left} lines: {len(gone)} entries to the archive"
    steps = [*archive_steps(gone, data, now.year), *header_steps(data, now)]
    going = tuple(Going(MEMORY, entry.number, entry.raw, reasons[entry]) for entry in gone)
    return replace(
        blank,
        going=going,
        lines_after=lines_left,
        size_after=size_left,
        change=FileChange(tuple(steps), (about, *(f"line {each.number}: {each.why}" for each in going))),
    )


def archive_steps(gone: Sequence[Entry], data: bytes, year: int) -> Iterator[Step]:
    """Steps that move entries to the archive: added there first, then dropped here.

    ``data`` is the file, ``year`` the year for entries without a date.
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
    """The step that updates the time in the header; the line count is updated by every write."""
    for line in data[: locate(data).body].decode("utf-8", "replace").splitlines():
        new = f"updated: {now:%Y-%m-%dT%H:%M:%SZ}"
        if _UPDATED.match(line) and line != new:
            yield Step("swap", MEMORY, new, old=line)


def _needless(found: Sequence[Entry], others: Sequence[Entry]) -> Iterator[tuple[Entry, str]]:
    """Superseded and duplicate entries, each with the reason."""
    later = superseded(found)
    seen = SimilarEntries()
    plain = SimilarEntries([replace(entry, text=text_of(entry)) for entry in others])
    for entry in sorted(found, key=lambda each: (day_of(each), each.number), reverse=True):
        text = text_of(entry)
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
