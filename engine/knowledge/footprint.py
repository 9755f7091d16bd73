"""Audits the size of knowledge entries, and records that and what is archived (``knowledge-entries.md``)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engine.errors import AutopoiesisError
from engine.knowledge.entries import EntryScan
from engine.knowledge.links import Links
from engine.redaction.detect import without_secrets
from engine.store.files import Files
from engine.store.repository import Repository

MOST_LISTED = 30
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class FootprintRow:
    """One catalog entry with everything in its folder."""

    name: str
    folder: str
    entries: int  # itself and the entries nested in it
    files: int  # in its folder, including nested entries
    size: int  # bytes
    changed: datetime | None
    """Last change of a file, according to the history or else the file system; ``None`` if unknown."""
    in_history: bool  # whether ``changed`` is from a commit
    references: int  # from outside its folder


@dataclass(frozen=True, slots=True)
class Footprint:
    """The audit."""

    entries: int
    nested: int  # nested in ``entries``
    files: int
    size: int  # bytes
    top: tuple[FootprintRow, ...]  # largest first
    recorded: bool  # whether the audit is in the cleanup log
    why: str = ""  # why it is not recorded


def audit(
    scan: EntryScan,
    links: Links,
    repository: Callable[[], Repository],
    log: CleanupLog,
    *,
    top: int = MOST_LISTED,
) -> Footprint:
    """Audits the knowledge entries and records the audit if the workspace is writable.

    Without a history, dates come from the file system. ``top`` is the number of entries listed.
    """
    outermost = scan.outermost("knowledge")
    totals = {entry.location: scan.totals(entry) for entry in outermost}
    ranked = sorted(outermost, key=lambda entry: (-totals[entry.location][2], entry.folder))
    history: Repository | None = None
    with contextlib.suppress(AutopoiesisError, OSError):
        found = repository()
        history = found if found.has_commits else None
    rows = tuple(
        FootprintRow(
            entry.name,
            entry.folder,
            *totals[entry.location],
            *_changed(scan, history, entry.folder),
            len(links.to(entry.folder)),
        )
        for entry in ranked[:top]
    )
    entries, files, size = (sum(each[part] for each in totals.values()) for part in range(3))
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


def _changed(scan: EntryScan, history: Repository | None, folder: str) -> tuple[datetime | None, bool]:
    """When a folder last changed; commit dates are preferred, since a clone resets file times."""
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


CLEANUP = "logs/cleanup.jsonl"
_TOOL = "knowledge"

Record = dict[str, Any]


@dataclass(eq=False)
class CleanupLog:
    """Writes and reads the append-only cleanup log."""

    files: Files
    clock: Callable[[], datetime]

    def add(
        self,
        summary: str,
        *,
        candidates: int,
        size: int,
        dry_run: bool,
        human_approved: bool,
        **more: str,
    ) -> None:
        """Adds a line with secrets redacted; raises ``WriteFailed`` or ``ReadOnly`` if it cannot be written.

        ``size`` is in bytes; ``human_approved`` says that a person agreed to the change.
        """
        record = {
            "ts": self.clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tool": _TOOL,
            "dry_run": dry_run,
            "candidates": candidates,
            "bytes": size,
            "human_approved": human_approved,
            "summary": summary,
            **more,
        }
        self.files.append(CLEANUP, (json.dumps(without_secrets(record)) + "\n").encode("ascii"))
