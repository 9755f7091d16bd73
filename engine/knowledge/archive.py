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
from engine.knowledge.archive_plan import COLD, TOP, EntryMove, is_below, move_of, named, refuse_shared
from engine.knowledge.cleanup import CleanupLog
from engine.knowledge.entries import Entries, Entry, plain
from engine.knowledge.inventory import take
from engine.knowledge.links import Links
from engine.redaction.detect import redacted
from engine.store import descriptors
from engine.store.change import ChangeCommit
from engine.store.documents import parse
from engine.store.entry_files import KNOWLEDGE, entry_name, folder_of
from engine.store.files import Files
from engine.store.paths import shown
from engine.store.repository import Repository

Commit = Callable[[Sequence[str], str], ChangeCommit]


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """What was done, or would be."""

    moves: tuple[EntryMove, ...]
    applied: bool = False
    already: tuple[str, ...] = ()  # entries asked for that are already where they were to go
    finished: tuple[str, ...] = ()  # files whose earlier move was committed only now
    commit: str = ""  # object name; empty when there is no commit
    why: str = ""  # why there is no commit


class EntryArchive:
    """Archives entries and restores them."""

    def __init__(
        self,
        files: Files,
        entries: Entries,
        repository: Callable[[], Repository],
        commit: Commit,
        log: CleanupLog,
        committing: Callable[[], bool],
    ) -> None:
        self._files = files
        self._entries = entries
        self._repository = repository
        self._commit = commit
        self._log = log
        self._committing = committing

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
            raise EntryError("nobody agreed to it", cure="look at the dry run, and let a person apply it")
        with self._files.lock():
            finished = self._finish()
            plan = self._planned(names)
            return self._applied(plan.moves, "archived", plan.already, finished)

    def restore(self, name: str) -> ArchiveReport:
        """Brings an archived entry back to where it was.

        Raises:
            EntryError: No archived entry has the name, or something is in its place.
            WriteFailed, ReadOnly: The folder could not be moved.
        """
        with self._files.lock():
            finished = self._finish()
            folder = self._cold(name)
            if not folder:
                if named(self._entries.scan(), name):
                    return ArchiveReport((), True, (name,), finished)
                known = ", ".join(shown(each.removeprefix(f"{COLD}/")) for each in self.archived())
                cure = f"there are {known}" if known else "nothing is archived"
                raise EntryError(f"there is no archived entry {shown(name)}", cure=cure)
            target = f"{TOP}/{folder.removeprefix(f'{COLD}/')}"
            inventory = take(self._files.workspace, [folder])
            markers = [path for path in inventory.files if path.endswith(f"/{KNOWLEDGE.marker}")]
            size = sum(inventory.files.values())
            title = folder.rpartition("/")[2]
            move = EntryMove(title, folder, target, len(markers), len(inventory.files), size)
            self._check_free(target)
            report = self._applied((move,), "restored", (), finished)
            self._remove_empty(folder_of(folder))
            return report

    def archived(self) -> list[str]:
        """The folders of archived entries, outermost ones, sorted."""
        found: list[str] = []
        for path in sorted(take(self._files.workspace, [COLD]).files):
            folder, _, name = path.rpartition("/")
            if name == KNOWLEDGE.marker and folder != COLD:
                found.append(folder)
        return [folder for folder in found if not any(folder.startswith(f"{other}/") for other in found)]

    def unfinished(self) -> tuple[Problem, ...]:
        """Moves that were made and not committed, because the program was killed between the two."""
        found: dict[str, int] = {}
        for _, new in self._pairs():
            folder = "/".join(new.split("/")[: 3 if new.startswith(f"{COLD}/") else 2])
            found[folder] = found.get(folder, 0) + 1
        cure = "run: autopoiesis knowledge archive --apply"
        return tuple(
            Problem(shown(folder), 0, f"was moved, and {_files(count)} not committed", cure, "warning")
            for folder, count in sorted(found.items())
        )

    # Planning.

    def _planned(self, names: Sequence[str]) -> ArchiveReport:
        scan = self._entries.scan()
        chosen: dict[str, Entry] = {}
        already: list[str] = []
        for name in names:
            if not named(scan, name) and self._cold(name):
                already.append(name)
                continue
            entry = scan.find(name)
            refuse_shared(scan, entry)
            chosen[entry.folder] = entry
        # What lies in the folder of another that is named moves with it.
        outer = [folder for folder in chosen if not is_below(folder, chosen)]
        links = Links(self._files, scan)
        moves = tuple(move_of(scan, links, chosen[folder], outer) for folder in sorted(outer))
        for move in moves:
            self._check_free(move.target)
        return ArchiveReport(moves, already=tuple(already))

    def _check_free(self, target: str) -> None:
        if os.path.lexists(self._files.workspace.root / target):
            raise EntryError("exists already", where=shown(target), cure="rename it or move it away first")

    def _cold(self, name: str) -> str:
        """The archived folder that a name means; empty if there is none.

        Raises:
            EntryError: Several are meant.
        """
        paths = [
            path
            for path in take(self._files.workspace, [COLD]).files
            if path.endswith(f"/{KNOWLEDGE.marker}") and folder_of(path) != COLD
        ]
        place = name.strip().rstrip("/").removesuffix(f"/{KNOWLEDGE.marker}")
        exact = f"{COLD}/{place.removeprefix(f'{COLD}/').removeprefix(f'{TOP}/')}"
        if f"{exact}/{KNOWLEDGE.marker}" in paths:
            return exact
        found = sorted({folder_of(path) for path in paths if plain(name) in self._titles(path)})
        if len(found) > 1:
            several = ", ".join(map(shown, found))
            raise EntryError(f"{shown(name)} is the name of several entries", cure=f"name one of {several}")
        return found[0] if found else ""

    def _titles(self, path: str) -> set[str]:
        names = {plain(path.split("/")[-2])}
        with contextlib.suppress(AutopoiesisError, FileNotFoundError):
            names.add(plain(entry_name(parse(self._files.read(path, limit=FILE_LIMIT), path).header, path)))
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
                inside = sorted(take(self._files.workspace, [move.source]).files)
                self._files.move(move.source, move.target)
                names.append(move.name)
                paths += inside
                paths += [f"{move.target}/{path.removeprefix(f'{move.source}/')}" for path in inside]
                self._record(move.name, move.target, move.entries, move.size, verb)
        finally:
            # What has moved is committed whatever became of the next one.
            committed = (
                self._commit(paths, f"Knowledge entries {verb}: {', '.join(names)}") if paths else None
            )
        if committed is None:
            return ArchiveReport((), True, already, finished)
        return ArchiveReport(moves, True, already, finished, committed.revision, committed.why)

    def _record(self, name: str, target: str, entries: int, size: int, verb: str) -> None:
        self._log.add(
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
            if self._committing():
                self._repository().recover()
            return ()
        news = [new for _, new in pairs]
        self._record_missing(news)
        committed = self._commit([path for pair in pairs for path in pair], "Knowledge entries moved earlier")
        return tuple(news) if committed.revision else ()

    def _record_missing(self, paths: Iterable[str]) -> None:
        """Records moves that are not recorded: the newest record says otherwise, or there is none."""
        last = {str(record.get("path")): record.get("action") for record in self._log.records()}
        inventory = take(self._files.workspace, [TOP])
        outer: dict[str, None] = {}
        for path in sorted(paths):
            folder = folder_of(path)
            if path.endswith(f"/{KNOWLEDGE.marker}") and not is_below(folder, outer):
                outer[folder] = None
        for folder in outer:
            verb = "archived" if folder.startswith(f"{COLD}/") else "restored"
            if last.get(redacted(folder)) == verb:
                continue
            inside = {path: size for path, size in inventory.files.items() if path.startswith(f"{folder}/")}
            entries = sum(path.endswith(f"/{KNOWLEDGE.marker}") for path in inside)
            self._record(folder.rpartition("/")[2], folder, entries, sum(inside.values()), verb)

    def _pairs(self) -> list[tuple[str, str]]:
        """Files that a move took away and brought, as far as the newest commit does not know of it."""
        if not self._committing():
            return []
        try:
            repository = self._repository()
            if not repository.has_commits:
                return []
            known = set(repository.files("HEAD", TOP))
        except (AutopoiesisError, OSError):
            return []
        here = take(self._files.workspace, [TOP]).files
        found = []
        for old in sorted(known - here.keys()):
            new = _counterpart(old)
            if new in here and new not in known:
                found.append((old, new))
        return found

    def _remove_empty(self, folder: str) -> None:
        """Removes folders of the archive that hold nothing any more."""
        while folder.startswith(f"{COLD}/") or folder == COLD:
            above, _, name = folder.rpartition("/")
            try:
                with descriptors.open_folder(self._files.workspace.root, above.split("/")) as descriptor:
                    os.rmdir(name, dir_fd=descriptor)
            except OSError:
                return
            folder = above


def _files(count: int) -> str:
    return "1 of its files is" if count == 1 else f"{count} of its files are"


def _counterpart(path: str) -> str:
    """Where a file of ``knowledge/`` is after a move, either way."""
    if path.startswith(f"{COLD}/"):
        return f"{TOP}/{path.removeprefix(f'{COLD}/')}"
    return f"{COLD}/{path.removeprefix(f'{TOP}/')}"
