"""Audits knowledge entries, archives and restores them: whole folders, byte for byte, under
``knowledge/archive/``.

An entry keeps its relative path below that folder, so restoring needs no record. A move is one rename,
recorded in the cleanup log and committed; a journal has it until all of that is done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, Problem
from engine.knowledge.entries import Entry, EntryScan, plain, scan_entries, take_inventory
from engine.knowledge.file_changes import remove_empty
from engine.knowledge.journal import Journal
from engine.knowledge.links import Link, Links
from engine.redaction.detect import redacted, without_secrets
from engine.store.change import ChangeCommit, Commit
from engine.store.commit_message import commit_message
from engine.store.documents import parse
from engine.store.entry_files import KNOWLEDGE, entry_name, folder_of
from engine.store.files import Files
from engine.store.paths import is_shared, shown
from engine.store.repository import Repository
from engine.store.typed import typed

TOP = KNOWLEDGE.folders[0]
COLD = KNOWLEDGE.cold
JOURNALS = "scratch/archive"
"""Folder of the journals of moves in progress."""

_SHARED = frozenset(
    ("archive", "files", "identity", "journal", "memory", "people", "private", "procedures", "projects",
     "prompts", "reference", "shared")
)  # fmt: skip
"""Folders in ``knowledge/`` that are never part of an entry."""


@dataclass(frozen=True, slots=True)
class EntryMove:
    """An entry with everything in its folder, and its target."""

    name: str
    source: str
    target: str
    entries: int  # itself and the entries nested in it
    files: int
    size: int  # bytes
    incoming: tuple[Link, ...] = ()  # references to it that will break
    outgoing: tuple[Link, ...] = ()  # relative references in it that are broken while it is archived

    @property
    def verb(self) -> str:
        """What is done to the entry."""
        return "archived" if self.target.startswith(f"{COLD}/") else "restored"


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What was done, or what would be done."""

    moves: tuple[EntryMove, ...]
    applied: bool = False
    already: tuple[str, ...] = ()  # requested entries that are already in the target place
    finished: tuple[str, ...] = ()  # folders of an earlier move that is committed only now
    commit: str = ""  # hash of the last commit; empty if there is none
    why: str = ""  # why there is no commit


@dataclass(eq=False)
class EntryArchive:
    """Archives entries and restores them."""

    files: Files
    commit: Commit
    log: CleanupLog
    on_problem: Callable[[str], None]

    @cached_property
    def _journal(self) -> Journal[EntryMove]:
        lost = "the entry may be archived again"
        return Journal(self.files, JOURNALS, _move_in, lost, self.on_problem)

    def archive(self, names: Sequence[str], *, apply: bool = False, consent: bool = False) -> ArchiveReport:
        """Archives entries; without ``apply``, reports what that would do.

        ``names`` are names, folders or locations of knowledge entries; ``consent`` says that a person has
        agreed.

        Raises:
            EntryError: An entry does not exist or cannot be moved, or no person has agreed.
            WriteFailed, ReadOnly: A folder could not be moved; earlier moves stay and are recorded.
        """
        if not apply:
            return self._planned(names)
        if not consent:
            raise EntryError(
                "archiving needs a person's consent", hint="review the dry run, then have a person apply it"
            )
        with self.files.lock():
            finished = self._finished()
            plan = self._planned(names)
            return replace(self._applied(plan.moves), already=plan.already, finished=finished)

    def restore(self, name: str) -> ArchiveReport:
        """Moves an archived entry back to its original place.

        Raises:
            EntryError: No archived entry has the name, or something is in its place.
            WriteFailed, ReadOnly: The folder could not be moved.
        """
        with self.files.lock():
            finished = self._finished()
            folder = self._cold(name)
            if not folder:
                if _named(scan_entries(self.files), name):
                    return ArchiveReport((), True, (name,), finished)
                known = ", ".join(shown(each.removeprefix(f"{COLD}/")) for each in self.archived())
                hint = f"archived entries: {known}" if known else "nothing is archived"
                raise EntryError(f"no such archived entry: {shown(name)}", hint=hint)
            target = f"{TOP}/{folder.removeprefix(f'{COLD}/')}"
            inside = take_inventory(self.files.workspace, [folder]).files
            markers = sum(path.endswith(f"/{KNOWLEDGE.marker}") for path in inside)
            title = folder.rpartition("/")[2]
            self._check_free(target)
            move = EntryMove(title, folder, target, markers, len(inside), sum(inside.values()))
            return replace(self._applied((move,)), finished=finished)

    def archived(self) -> list[str]:
        """The folders of the outermost archived entries, sorted."""
        files = take_inventory(self.files.workspace, [COLD]).files
        found = {folder_of(path) for path in files if path.endswith(f"/{KNOWLEDGE.marker}")} - {COLD}
        return sorted(folder for folder in found if not _is_below(folder, found))

    def unfinished(self) -> tuple[Problem, ...]:
        """Moves that were interrupted."""
        hint = "run: autopoiesis knowledge archive --apply"
        return tuple(
            Problem(shown(move.target), 0, "was moved, but that is not committed", hint, "warning")
            for move in self._journal.kept()
            if self.files.workspace.root.joinpath(move.target).exists()
        )

    # Planning.

    def _planned(self, names: Sequence[str]) -> ArchiveReport:
        scan = scan_entries(self.files)
        chosen: dict[str, Entry] = {}
        already: list[str] = []
        for name in names:
            if not _named(scan, name) and self._cold(name):
                already.append(name)
            else:
                entry = scan.find(name)
                _refuse_shared(scan, entry)
                chosen[entry.folder] = entry
        # An entry inside another chosen entry moves with it.
        outer = [folder for folder in chosen if not _is_below(folder, chosen)]
        links = Links(self.files, scan)
        moves = tuple(_move_of(scan, links, chosen[folder], outer) for folder in sorted(outer))
        for move in moves:
            self._check_free(move.target)
        return ArchiveReport(moves, already=tuple(already))

    def _check_free(self, target: str) -> None:
        if os.path.lexists(self.files.workspace.root / target):
            raise EntryError("already exists", where=shown(target), hint="rename it or move it away first")

    def _cold(self, name: str) -> str:
        """The archived folder with a name; empty if there is none.

        Raises:
            EntryError: The name is ambiguous.
        """
        paths = [
            path
            for path in take_inventory(self.files.workspace, [COLD]).files
            if path.endswith(f"/{KNOWLEDGE.marker}") and folder_of(path) != COLD
        ]
        place = name.strip().rstrip("/").removesuffix(f"/{KNOWLEDGE.marker}")
        exact = f"{COLD}/{place.removeprefix(f'{COLD}/').removeprefix(f'{TOP}/')}"
        if f"{exact}/{KNOWLEDGE.marker}" in paths:
            return exact
        found = sorted({folder_of(path) for path in paths if plain(name) in self._titles(path)})
        if len(found) > 1:
            raise EntryError(
                f"several entries are called {shown(name)}", hint=f"use one of {', '.join(map(shown, found))}"
            )
        return found[0] if found else ""

    def _titles(self, path: str) -> set[str]:
        names = {plain(path.split("/")[-2])}
        with contextlib.suppress(AutopoiesisError, FileNotFoundError):
            names.add(plain(entry_name(parse(self.files.read(path, limit=FILE_LIMIT), path).header, path)))
        return names

    # Moving.

    def _finished(self) -> tuple[str, ...]:
        """Finishes interrupted moves; returns the folders of those committed now."""
        return tuple(move.target for move, made in self._journal.finish(self._settle) if made.revision)

    def _applied(self, moves: tuple[EntryMove, ...]) -> ArchiveReport:
        made = ChangeCommit()
        for move in moves:
            name = hashlib.sha256(os.fsencode(move.source)).hexdigest()[:16]
            self._journal.keep(name, replace(move, incoming=(), outgoing=()))
            made = self._settle(name, move)[1]
        return ArchiveReport(moves, True, commit=made.revision, why=made.why)

    def _settle(self, name: str, move: EntryMove) -> tuple[EntryMove, ChangeCommit]:
        """Makes a move; repeatable."""
        root = self.files.workspace.root
        if not os.path.lexists(root / move.target):
            try:
                self.files.move(move.source, move.target)
            except FileNotFoundError:
                self._journal.drop(name)
                return move, ChangeCommit(why=f"{shown(move.source)} no longer exists")
            except AutopoiesisError:
                self._journal.drop(name)  # nothing was moved
                raise
        if move.verb == "restored":
            remove_empty(self.files, folder_of(move.source), least=1)
        last = {str(record.get("path")): record.get("action") for record in self.log.records()}
        if last.get(redacted(move.target)) != move.verb:
            self.log.add(
                f"{move.verb} knowledge entry {move.name}",
                candidates=move.entries,
                size=move.size,
                dry_run=False,
                human_approved=True,
                action=move.verb,
                path=move.target,
            )
        inside = [
            path.removeprefix(move.target)
            for path in sorted(take_inventory(self.files.workspace, [move.target]).files)
        ]
        message = commit_message("maintenance", f"knowledge entry {move.verb}: {move.name}")
        made = self.commit([place + path for place in (move.source, move.target) for path in inside], message)
        if not made.failed or not (root / ".git").exists():
            self._journal.drop(name)
        return move, made


def _move_in(tree: Any) -> EntryMove:
    """The move in a journal; raises as ``typed``, or ``ValueError`` if it is not one of an entry."""
    move = typed(EntryMove, tree)
    if not all(place.startswith(f"{TOP}/") and ".." not in place for place in (move.source, move.target)):
        raise ValueError("not a move within knowledge/")
    return move


def _named(scan: EntryScan, name: str) -> bool:
    """True if a name may refer to a knowledge entry that is not archived."""
    place = name.strip().rstrip("/")
    return any(
        entry.kind == "knowledge" and (place in (entry.location, entry.folder) or entry.is_called(place))
        for entry in scan.entries
    )


def _refuse_shared(scan: EntryScan, entry: Entry) -> None:
    """Raises ``EntryError`` if an entry cannot be moved, or if its folder contains more than the entry."""
    where = shown(entry.location)
    if entry.kind != "knowledge":
        raise EntryError("is a skill; only knowledge entries can be archived", where=where)
    if is_shared(entry.location):
        hint = "to remove the whole share: autopoiesis share remove"
        raise EntryError("is shared by others and cannot be changed here", where=where, hint=hint)
    above, _, name = entry.folder.rpartition("/")
    if entry.folder == TOP or (above == TOP and name in _SHARED) or above == f"{TOP}/projects":
        raise EntryError(
            f"is in {shown(entry.folder)}/, which contains more than this entry",
            where=where,
            hint="move it to its own folder",
        )
    below = f"{entry.folder}/"
    for path in sorted(scan.inventory.symlinks | scan.inventory.special):
        if path.startswith(below):
            raise EntryError(
                "is not a regular file, so the folder cannot be archived",
                where=shown(path),
                hint="replace it with a regular file, or move it out of the folder",
            )


def _move_of(scan: EntryScan, links: Links, entry: Entry, moving: Sequence[str]) -> EntryMove:
    """The move of an entry; ``moving`` are all folders that move with it."""
    below = tuple(f"{folder}/" for folder in moving)
    incoming = tuple(link for link in links.to(entry.folder) if not link.source.startswith(below))
    outgoing = tuple(
        link
        for link in links.of(entry.folder)
        if not f"{link.target}/".startswith(f"{entry.folder}/") and link.reference.target.startswith("../")
    )
    return EntryMove(
        entry.name,
        entry.folder,
        f"{COLD}/{entry.folder.removeprefix(f'{TOP}/')}",
        *scan.totals(entry),
        incoming,
        outgoing,
    )


def _is_below(folder: str, others: Iterable[str]) -> bool:
    return any(folder.startswith(f"{other}/") for other in others)


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

    def records(self) -> Iterator[Record]:
        """All readable records, oldest first, without those of other tools."""
        try:
            data = self.files.read(CLEANUP, limit=None)
        except (FileNotFoundError, AutopoiesisError):
            return
        for line in data.splitlines():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and record.get("tool") == _TOOL:
                yield record
