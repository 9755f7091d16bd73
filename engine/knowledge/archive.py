"""Archives knowledge entries and restores them: whole folders, byte for byte, under ``knowledge/archive/``.

An entry keeps its relative path below that folder, so restoring needs no record. A move is one rename. After
a kill, an uncommitted move shows in the files: a path in the newest commit that is missing on disk, while its
counterpart is on disk and in no commit. The next run commits exactly those.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, Problem
from engine.knowledge.entries import Entry, EntryScan, plain, scan_entries
from engine.knowledge.file_changes import remove_empty
from engine.knowledge.footprint import CleanupLog
from engine.knowledge.inventory import take_inventory
from engine.knowledge.links import Link, Links
from engine.redaction.detect import redacted
from engine.store.change import ChangeCommit
from engine.store.commit_message import commit_message
from engine.store.documents import parse
from engine.store.entry_files import KNOWLEDGE, entry_name, folder_of
from engine.store.files import Files
from engine.store.paths import is_shared, shown
from engine.store.repository import Repository

TOP = KNOWLEDGE.folders[0]
COLD = KNOWLEDGE.cold

_SHARED = frozenset(
    {
        "archive",
        "files",
        "identity",
        "journal",
        "memory",
        "people",
        "private",
        "procedures",
        "projects",
        "prompts",
        "reference",
        "shared",
    }
)
"""Folders in ``knowledge/`` that are never part of an entry."""


Commit = Callable[[Sequence[str], str], ChangeCommit]


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


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What was done, or what would be done."""

    moves: tuple[EntryMove, ...]
    applied: bool = False
    already: tuple[str, ...] = ()  # requested entries that are already in the target place
    finished: tuple[str, ...] = ()  # files of an earlier move that is committed only now
    commit: str = ""  # hash; empty if there is no commit
    why: str = ""  # why there is no commit


@dataclass(eq=False)
class EntryArchive:
    """Archives entries and restores them."""

    files: Files
    repository: Callable[[], Repository]
    commit: Commit
    log: CleanupLog
    committing: Callable[[], bool]

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
            finished = self._finish()
            plan = self._planned(names)
            return self._applied(plan.moves, "archived", plan.already, finished)

    def restore(self, name: str) -> ArchiveReport:
        """Moves an archived entry back to its original place.

        Raises:
            EntryError: No archived entry has the name, or something is in its place.
            WriteFailed, ReadOnly: The folder could not be moved.
        """
        with self.files.lock():
            finished = self._finish()
            folder = self._cold(name)
            if not folder:
                if _named(scan_entries(self.files), name):
                    return ArchiveReport((), True, (name,), finished)
                known = ", ".join(shown(each.removeprefix(f"{COLD}/")) for each in self.archived())
                hint = f"archived entries: {known}" if known else "nothing is archived"
                raise EntryError(f"no such archived entry: {shown(name)}", hint=hint)
            target = f"{TOP}/{folder.removeprefix(f'{COLD}/')}"
            inventory = take_inventory(self.files.workspace, [folder])
            markers = [path for path in inventory.files if path.endswith(f"/{KNOWLEDGE.marker}")]
            size = sum(inventory.files.values())
            title = folder.rpartition("/")[2]
            move = EntryMove(title, folder, target, len(markers), len(inventory.files), size)
            self._check_free(target)
            report = self._applied((move,), "restored", (), finished)
            remove_empty(self.files, folder_of(folder), least=1)
            return report

    def archived(self) -> list[str]:
        """The folders of the outermost archived entries, sorted."""
        return _outermost(take_inventory(self.files.workspace, [COLD]).files)

    def unfinished(self) -> tuple[Problem, ...]:
        """Moves that were interrupted before they were committed."""
        found: dict[str, int] = {}
        for _, new in self._pairs():
            folder = "/".join(new.split("/")[: 3 if new.startswith(f"{COLD}/") else 2])
            found[folder] = found.get(folder, 0) + 1
        hint = "run: autopoiesis knowledge archive --apply"
        return tuple(
            Problem(shown(folder), 0, f"was moved, but {_files(count)} not committed", hint, "warning")
            for folder, count in sorted(found.items())
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

    def _applied(
        self,
        moves: tuple[EntryMove, ...],
        verb: str,
        already: tuple[str, ...],
        finished: tuple[str, ...],
    ) -> ArchiveReport:
        paths: list[str] = []
        names: list[str] = []
        try:
            for move in moves:
                inside = sorted(take_inventory(self.files.workspace, [move.source]).files)
                self.files.move(move.source, move.target)
                names.append(move.name)
                paths += inside
                paths += [f"{move.target}/{path.removeprefix(f'{move.source}/')}" for path in inside]
                self._record(move.name, move.target, move.entries, move.size, verb)
        finally:
            # Completed moves are committed even if a later one failed.
            message = commit_message("maintenance", f"knowledge entries {verb}: {', '.join(names)}")
            committed = self.commit(paths, message) if paths else None
        if committed is None:
            return ArchiveReport((), True, already, finished)
        return ArchiveReport(moves, True, already, finished, committed.revision, committed.why)

    def _record(self, name: str, target: str, entries: int, size: int, verb: str) -> None:
        self.log.add(
            f"{verb} knowledge entry {name}",
            candidates=entries,
            size=size,
            dry_run=False,
            human_approved=True,
            action=verb,
            path=target,
        )

    def _finish(self) -> tuple[str, ...]:
        pairs = self._pairs()
        if not pairs:
            if self.committing():
                self.repository().recover()
            return ()
        news = [new for _, new in pairs]
        self._record_missing(news)
        message = commit_message("maintenance", "knowledge entries moved earlier")
        committed = self.commit([path for pair in pairs for path in pair], message)
        return tuple(news) if committed.revision else ()

    def _record_missing(self, paths: Iterable[str]) -> None:
        """Records moves whose newest record is missing or says otherwise."""
        last = {str(record.get("path")): record.get("action") for record in self.log.records()}
        inventory = take_inventory(self.files.workspace, [TOP])
        for folder in _outermost(paths):
            verb = "archived" if folder.startswith(f"{COLD}/") else "restored"
            if last.get(redacted(folder)) == verb:
                continue
            inside = {path: size for path, size in inventory.files.items() if path.startswith(f"{folder}/")}
            entries = sum(path.endswith(f"/{KNOWLEDGE.marker}") for path in inside)
            self._record(folder.rpartition("/")[2], folder, entries, sum(inside.values()), verb)

    def _pairs(self) -> list[tuple[str, str]]:
        """Old and new paths of files that were moved since the newest commit."""
        if not self.committing():
            return []
        try:
            repository = self.repository()
            if not repository.has_commits:
                return []
            known = set(repository.files("HEAD", TOP))
        except (AutopoiesisError, OSError):
            return []
        here = take_inventory(self.files.workspace, [TOP]).files
        moved = ((old, _counterpart(old)) for old in sorted(known - here.keys()))
        return [(old, new) for old, new in moved if new in here and new not in known]


def _files(count: int) -> str:
    return "1 of its files is" if count == 1 else f"{count} of its files are"


def _counterpart(path: str) -> str:
    """The path of a file in ``knowledge/`` after archiving or restoring it."""
    if path.startswith(f"{COLD}/"):
        return f"{TOP}/{path.removeprefix(f'{COLD}/')}"
    return f"{COLD}/{path.removeprefix(f'{TOP}/')}"


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


def _outermost(paths: Iterable[str]) -> list[str]:
    """The folders of the outermost entries among some files, sorted."""
    found = {folder_of(path) for path in paths if path.endswith(f"/{KNOWLEDGE.marker}")} - {COLD}
    return sorted(folder for folder in found if not _is_below(folder, found))


def _is_below(folder: str, others: Iterable[str]) -> bool:
    return any(folder.startswith(f"{other}/") for other in others)
