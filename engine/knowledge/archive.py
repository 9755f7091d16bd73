"""Knowledge entries archived and restored: whole folders, byte for byte, under ``knowledge/archive/``.

An entry keeps its place below that folder, so the way back needs no record. A move is one rename, and what
remains after a kill shows in the files: a path that the newest commit has and the disk has not, with its
counterpart on the disk and in no commit. The next run commits exactly those.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from engine.context.sources import FILE_LIMIT
from engine.errors import AutopoiesisError, EntryError, Problem
from engine.knowledge.cleanup import CleanupLog
from engine.knowledge.entries import Entry, EntryScan, plain, scan_entries
from engine.knowledge.file_changes import remove_empty
from engine.knowledge.inventory import take
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
"""Folders of ``knowledge/`` that never belong to an entry, whatever they hold."""


Commit = Callable[[Sequence[str], str], ChangeCommit]


@dataclass(frozen=True, slots=True)
class EntryMove:
    """One entry with everything in its folder, and where it goes."""

    name: str
    source: str
    target: str
    entries: int  # itself and the entries nested in it
    files: int
    size: int  # bytes
    incoming: tuple[Link, ...] = ()  # references to it that will lead nowhere
    outgoing: tuple[Link, ...] = ()  # relative references in it that lead nowhere while it is archived


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What was done, or would be."""

    moves: tuple[EntryMove, ...]
    applied: bool = False
    already: tuple[str, ...] = ()  # entries asked for that are already where they were to go
    finished: tuple[str, ...] = ()  # files whose earlier move was committed only now
    commit: str = ""  # object name; empty when there is no commit
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
        """Archives entries; without ``apply`` says what that would do.

        ``names`` are names, folders or locations of knowledge entries; ``consent`` says that a person has
        agreed.

        Raises:
            EntryError: An entry does not exist or cannot be moved, or no person agreed.
            WriteFailed, ReadOnly: A folder could not be moved; what was moved before it is kept and recorded.
        """
        if not apply:
            return self._planned(names)
        if not consent:
            raise EntryError("nobody agreed to it", hint="look at the dry run, and let a person apply it")
        with self.files.lock():
            finished = self._finish()
            plan = self._planned(names)
            return self._applied(plan.moves, "archived", plan.already, finished)

    def restore(self, name: str) -> ArchiveReport:
        """Brings an archived entry back to where it was.

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
                hint = f"there are {known}" if known else "nothing is archived"
                raise EntryError(f"there is no archived entry {shown(name)}", hint=hint)
            target = f"{TOP}/{folder.removeprefix(f'{COLD}/')}"
            inventory = take(self.files.workspace, [folder])
            markers = [path for path in inventory.files if path.endswith(f"/{KNOWLEDGE.marker}")]
            size = sum(inventory.files.values())
            title = folder.rpartition("/")[2]
            move = EntryMove(title, folder, target, len(markers), len(inventory.files), size)
            self._check_free(target)
            report = self._applied((move,), "restored", (), finished)
            remove_empty(self.files, folder_of(folder), least=1)
            return report

    def archived(self) -> list[str]:
        """The folders of archived entries, outermost ones, sorted."""
        return _outermost(take(self.files.workspace, [COLD]).files)

    def unfinished(self) -> tuple[Problem, ...]:
        """Moves that were made and not committed, because the program was killed between the two."""
        found: dict[str, int] = {}
        for _, new in self._pairs():
            folder = "/".join(new.split("/")[: 3 if new.startswith(f"{COLD}/") else 2])
            found[folder] = found.get(folder, 0) + 1
        hint = "run: autopoiesis knowledge archive --apply"
        return tuple(
            Problem(shown(folder), 0, f"was moved, and {_files(count)} not committed", hint, "warning")
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
        # What lies in the folder of another that is named moves with it.
        outer = [folder for folder in chosen if not _is_below(folder, chosen)]
        links = Links(self.files, scan)
        moves = tuple(_move_of(scan, links, chosen[folder], outer) for folder in sorted(outer))
        for move in moves:
            self._check_free(move.target)
        return ArchiveReport(moves, already=tuple(already))

    def _check_free(self, target: str) -> None:
        if os.path.lexists(self.files.workspace.root / target):
            raise EntryError("exists already", where=shown(target), hint="rename it or move it away first")

    def _cold(self, name: str) -> str:
        """The archived folder that a name means; empty if there is none.

        Raises:
            EntryError: Several are meant.
        """
        paths = [
            path
            for path in take(self.files.workspace, [COLD]).files
            if path.endswith(f"/{KNOWLEDGE.marker}") and folder_of(path) != COLD
        ]
        place = name.strip().rstrip("/").removesuffix(f"/{KNOWLEDGE.marker}")
        exact = f"{COLD}/{place.removeprefix(f'{COLD}/').removeprefix(f'{TOP}/')}"
        if f"{exact}/{KNOWLEDGE.marker}" in paths:
            return exact
        found = sorted({folder_of(path) for path in paths if plain(name) in self._titles(path)})
        if len(found) > 1:
            several = ", ".join(map(shown, found))
            raise EntryError(f"{shown(name)} is the name of several entries", hint=f"name one of {several}")
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
                inside = sorted(take(self.files.workspace, [move.source]).files)
                self.files.move(move.source, move.target)
                names.append(move.name)
                paths += inside
                paths += [f"{move.target}/{path.removeprefix(f'{move.source}/')}" for path in inside]
                self._record(move.name, move.target, move.entries, move.size, verb)
        finally:
            # What has moved is committed whatever became of the next one.
            said = commit_message("maintenance", f"knowledge entries {verb}: {', '.join(names)}")
            committed = self.commit(paths, said) if paths else None
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
        said = commit_message("maintenance", "knowledge entries moved earlier")
        committed = self.commit([path for pair in pairs for path in pair], said)
        return tuple(news) if committed.revision else ()

    def _record_missing(self, paths: Iterable[str]) -> None:
        """Records moves that are not recorded: the newest record says otherwise, or there is none."""
        last = {str(record.get("path")): record.get("action") for record in self.log.records()}
        inventory = take(self.files.workspace, [TOP])
        for folder in _outermost(paths):
            verb = "archived" if folder.startswith(f"{COLD}/") else "restored"
            if last.get(redacted(folder)) == verb:
                continue
            inside = {path: size for path, size in inventory.files.items() if path.startswith(f"{folder}/")}
            entries = sum(path.endswith(f"/{KNOWLEDGE.marker}") for path in inside)
            self._record(folder.rpartition("/")[2], folder, entries, sum(inside.values()), verb)

    def _pairs(self) -> list[tuple[str, str]]:
        """Files that a move took away and brought, as far as the newest commit does not know of it."""
        if not self.committing():
            return []
        try:
            repository = self.repository()
            if not repository.has_commits:
                return []
            known = set(repository.files("HEAD", TOP))
        except (AutopoiesisError, OSError):
            return []
        here = take(self.files.workspace, [TOP]).files
        moved = ((old, _counterpart(old)) for old in sorted(known - here.keys()))
        return [(old, new) for old, new in moved if new in here and new not in known]


def _files(count: int) -> str:
    return "1 of its files is" if count == 1 else f"{count} of its files are"


def _counterpart(path: str) -> str:
    """Where a file of ``knowledge/`` is after a move, either way."""
    if path.startswith(f"{COLD}/"):
        return f"{TOP}/{path.removeprefix(f'{COLD}/')}"
    return f"{COLD}/{path.removeprefix(f'{TOP}/')}"


def _named(scan: EntryScan, name: str) -> bool:
    """Whether a name may mean a knowledge entry that is not archived."""
    place = name.strip().rstrip("/")
    return any(
        entry.kind == "knowledge" and (place in (entry.location, entry.folder) or entry.is_called(place))
        for entry in scan.entries
    )


def _refuse_shared(scan: EntryScan, entry: Entry) -> None:
    """Checks that an entry can be moved whole and is nothing but an entry.

    Raises:
        EntryError: It cannot be moved, or its folder holds more.
    """
    where = shown(entry.location)
    if entry.kind != "knowledge":
        raise EntryError("is a skill; only knowledge is archived", where=where)
    if is_shared(entry.location):
        hint = "to take all of it out: autopoiesis share remove"
        raise EntryError("is shared by others, and stays as they have it", where=where, hint=hint)
    above, _, name = entry.folder.rpartition("/")
    if entry.folder == TOP or (above == TOP and name in _SHARED) or above == f"{TOP}/projects":
        raise EntryError(
            f"lies in {shown(entry.folder)}/, which holds more than this entry",
            where=where,
            hint="give it a folder of its own",
        )
    below = f"{entry.folder}/"
    for path in sorted(scan.inventory.symlinks | scan.inventory.odd):
        if path.startswith(below):
            raise EntryError(
                "is a symlink or no regular file, so the folder cannot be kept as it is",
                where=shown(path),
                hint="put a regular file there, or take it out of the folder",
            )


def _move_of(scan: EntryScan, links: Links, entry: Entry, moving: Sequence[str]) -> EntryMove:
    """An entry and where it goes, with the folders that move with it."""
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
    """The folders of the entries among some files that are nested in no other, sorted."""
    found = {folder_of(path) for path in paths if path.endswith(f"/{KNOWLEDGE.marker}")} - {COLD}
    return sorted(folder for folder in found if not _is_below(folder, found))


def _is_below(folder: str, others: Iterable[str]) -> bool:
    """Whether a folder lies in one of others."""
    return any(folder.startswith(f"{other}/") for other in others)
