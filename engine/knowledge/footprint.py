"""How much room knowledge entries take, how old they are, and what refers to them; changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from engine.errors import AutopoiesisError
from engine.knowledge.cleanup import CleanupLog
from engine.knowledge.entries import Entry, EntryScan
from engine.knowledge.links import Links
from engine.store.repository import Repository

TOP = 30
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class FootprintRow:
    """One entry of the catalog with everything in its folder.

    Attributes:
        name: What it is called.
        folder: Where it is.
        entries: Itself and the entries nested in it.
        files: Files in its folder, those of nested entries among them.
        size: Their bytes.
        changed: When one of them was last changed: by the history, else by the file system. ``None`` where
            neither says.
        in_history: Whether ``changed`` is from a commit.
        references: References to it from outside of its folder.
    """

    name: str
    folder: str
    entries: int
    files: int
    size: int
    changed: datetime | None
    in_history: bool
    references: int


@dataclass(frozen=True, slots=True)
class Footprint:
    """The audit.

    Attributes:
        entries: Entries of the catalog.
        nested: Entries nested in them.
        files: Files of all of them.
        size: Bytes of all of them.
        top: The largest, largest first.
        recorded: Whether it stands in the record.
        why: Why it does not.
    """

    entries: int
    nested: int
    files: int
    size: int
    top: tuple[FootprintRow, ...]
    recorded: bool
    why: str = ""


def audit(
    scan: EntryScan, links: Links, repository: Callable[[], Repository], log: CleanupLog, *, top: int = TOP
) -> Footprint:
    """Looks at the knowledge entries and records that it did.

    Args:
        scan: The entries.
        links: Their references.
        repository: The history; a workspace without one is judged by the file system.
        log: Where the audit is recorded; a workspace that cannot be written is audited all the same.
        top: How many entries are named.
    """
    outermost = scan.outermost("knowledge")
    sizes = {entry.location: _sum(scan, entry) for entry in outermost}
    ranked = sorted(outermost, key=lambda entry: (-sizes[entry.location][2], entry.folder))
    history = _history(repository)
    rows = tuple(_row(scan, links, history, entry, sizes[entry.location]) for entry in ranked[:top])
    entries, files, size = (sum(each[part] for each in sizes.values()) for part in range(3))
    why = ""
    try:
        log.add(
            "knowledge footprint audit",
            candidates=len(outermost),
            size=size,
            dry_run=True,
            human_approved=False,
        )
    except AutopoiesisError as error:
        why = error.what
    return Footprint(len(outermost), entries - len(outermost), files, size, rows, not why, why)


def _sum(scan: EntryScan, entry: Entry) -> tuple[int, int, int]:
    """Entries, files and bytes of a folder."""
    within = scan.within(entry)
    return len(within), sum(each.files for each in within), sum(each.size for each in within)


def _history(repository: Callable[[], Repository]) -> Repository | None:
    try:
        found = repository()
        return found if found.has_commits else None
    except (AutopoiesisError, OSError):
        return None


def _row(
    scan: EntryScan, links: Links, history: Repository | None, entry: Entry, size: tuple[int, int, int]
) -> FootprintRow:
    changed, in_history = _changed(scan, history, entry.folder)
    references = len(links.to(entry.folder))
    return FootprintRow(entry.name, entry.folder, *size, changed, in_history, references)


def _changed(scan: EntryScan, history: Repository | None, folder: str) -> tuple[datetime | None, bool]:
    """When something in a folder was last changed; a clone gives files a new time, a commit keeps its own."""
    if history is not None:
        try:
            commits = history.log(1, path=folder)
        except AutopoiesisError:
            commits = []
        if commits:
            return commits[0].at, True
    below = f"{folder}/"
    times = [at for path, at in scan.inventory.changed.items() if path.startswith(below)]
    return (datetime.fromtimestamp(max(times) / _NS, UTC) if times else None), False
