"""Prunes the working set: MEMORY.md above its cap, old journals, unused files (spec 8.5, 8.6, design 3.9).

Files are selected by last change and use, and move to the archive and back unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.context.fixed import IDENTITY, JOURNAL, PROJECTS
from engine.context.sources import MEMORY
from engine.errors import AutopoiesisError, ChangeRefused
from engine.knowledge.category_files import Entry, entries
from engine.knowledge.entries import Entry as KnowledgeEntry
from engine.knowledge.entries import EntryScan, Inventory, hidden, scan_entries, take_inventory
from engine.knowledge.file_changes import FileChange, Step
from engine.knowledge.footprint import CleanupLog
from engine.knowledge.harvest.reclaim import too_many
from engine.knowledge.links import Links
from engine.lifecycle.proposals import Proposal, shown
from engine.lifecycle.retention.memory import MemoryPlan, plan_memory
from engine.store.entry_files import KNOWLEDGE, SHELVES, folder_of
from engine.store.paths import is_shared
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.knowledge.file_changes import ChangeResult
    from engine.knowledge.knowledge import Knowledge
    from engine.settings.model import LifecycleSettings
    from engine.store.files import Files
    from engine.store.repository import Repository

DECAY = 0.05
"""Decay per day since the last change; a score halves in 14 days."""
MIN_SCORE = 0.01
"""Files below this score may be archived."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A file and its score."""

    path: str
    days: int  # since its last change
    references: int  # prompts it was useful in, and links to it; at least 1
    score: float  # e^(−.05 · days) · references


def scored(
    paths: Iterable[str],
    changes: Mapping[str, datetime],
    uses: Mapping[str, int],
    links: Links,
    now: datetime,
) -> list[Scored]:
    """The scores of files, lowest first, without files of unknown age.

    Args:
        changes: Time of the last change of each file.
        uses: Number of prompts each file was useful in.
    """
    found = []
    for path in paths:
        if path in changes:
            days = max(0, (now - changes[path]).days)
            references = max(1, uses.get(path, 0) + len(links.to(path)))
            found.append(Scored(path, days, references, math.exp(-DECAY * days) * references))
    return sorted(found, key=lambda each: (each.score, each.path))


def evictable(inventory: Inventory, links: Links) -> list[str]:
    """Files that may be archived by score: not part of a knowledge entry or an active project."""
    markers = {shelf.marker for shelf in SHELVES}
    inside = [path.rpartition("/")[0] for path in inventory.files if path.rpartition("/")[2] in markers]
    listed = {link.target.rpartition("/")[0] for link in links.of(PROJECTS)}
    kept = tuple(f"{folder}/" for folder in (*inside, *listed) if folder.count("/") > 1)
    return sorted(
        path
        for path in inventory.files
        if path.startswith(EVICTABLE)
        and not hidden(path)
        and not why_kept(path)
        and not path.startswith(kept)
    )


def unlinked(chosen: Iterable[str], links: Links, going: Iterable[str] = ()) -> list[str]:
    """The chosen files without those that a remaining file links to.

    Args:
        going: Files that are archived in any case.
    """
    left = dict.fromkeys(chosen)
    always = frozenset(going)
    while True:
        held = [
            path
            for path in left
            if any(link.source not in left and link.source not in always for link in links.to(path))
        ]
        if not held:
            return list(left)
        for path in held:
            del left[path]


def last_changes(repository: Repository, inventory: Inventory) -> dict[str, datetime]:
    """Time of the last change of each file in ``knowledge/``, from git or otherwise from the file system."""
    found: dict[str, datetime] = {}
    try:
        if repository.has_commits:
            options = ("--format=%x01%ct", "--name-only", "--no-renames", "-z")
            at = datetime.fromtimestamp(0, UTC)
            for token in repository.git.run("log", *options, paths=["knowledge"]).text.split("\0"):
                for part in filter(None, token.split("\n")):
                    if part.startswith("\x01"):
                        at = datetime.fromtimestamp(int(part[1:]), UTC)
                    else:
                        found.setdefault(part, at)
            for path in repository.changed("knowledge"):
                found.pop(path, None)
    except (AutopoiesisError, OSError, ValueError):
        found = {}
    return {
        path: found.get(path) or datetime.fromtimestamp(changed / 1e9, UTC)
        for path, changed in inventory.changed.items()
    }


ARCHIVE = "archive"
EVICTABLE = tuple(f"knowledge/{name}/" for name in ("projects", "people", "procedures", "reference"))
"""Folders whose unused files are archived; journals are archived by age."""

_ELSEWHERE = ("topics/",)
"""Folders outside ``knowledge/`` that keep their name in the archive."""
_CLASHING = ("knowledge/topics/", "knowledge/raw/", "knowledge/conversations/", "knowledge/knowledge/")
_INDEXES = ("_active.md", "_index.md")
_GENERATED = ("knowledge/files/", "knowledge/prompts/", "knowledge/archive/")


def archived(path: str) -> str:
    """The path of a file in the archive."""
    return f"{ARCHIVE}/{path.removeprefix('knowledge/')}"


def restored(path: str) -> str:
    """The original path of an archived file."""
    inside = path.removeprefix(f"{ARCHIVE}/")
    return inside if inside.startswith(_ELSEWHERE) else f"knowledge/{inside}"


def why_kept(path: str) -> str:
    """Why a file can never be archived; empty if it can."""
    name = path.rpartition("/")[2]
    if not path.endswith(".md") or not path.startswith(("knowledge/", *_ELSEWHERE)):
        return "only Markdown files in knowledge/ and topics/ can be archived"
    if path.startswith(f"{IDENTITY}/") or path == MEMORY:
        return "it is part of every prompt"
    if path.count("/") == 1 and path.startswith("knowledge/"):
        return "it is a category file or a generated file"
    if name in _INDEXES or path == PROJECTS:
        return "it is an index"
    if is_shared(path):
        return "it is shared knowledge; to remove it: autopoiesis share remove"
    if path.startswith((*_GENERATED, *_CLASHING)):
        return "files in its folder are never moved"
    return ""


_SHARED = frozenset(
    ("archive", "files", "identity", "journal", "memory", "merged", "people", "private", "procedures",
     "projects", "prompts", "reference", "shared")
)  # fmt: skip
"""Folders in ``knowledge/`` that are never those of one entry."""


def why_entry_kept(entry: KnowledgeEntry, inventory: Inventory) -> str:
    """Why a knowledge entry cannot be archived as a whole; empty if it can."""
    above, _, name = entry.folder.rpartition("/")
    below, top = f"{entry.folder}/", KNOWLEDGE.folders[0]
    if is_shared(below):
        return "it is shared knowledge; to remove it: autopoiesis share remove"
    if entry.folder == top or (above == top and name in _SHARED) or above == f"{top}/projects":
        return "its folder contains more than this entry"
    if below.startswith(_CLASHING):
        return "files in its folder are never moved"
    odd = next((path for path in inventory.symlinks | inventory.special if path.startswith(below)), "")
    return f"{odd} is not a regular file" if odd else ""


def journal_day(path: str) -> date | None:
    """The day of a journal; ``None`` if the file is not a journal."""
    if PurePosixPath(path).parent.as_posix() != JOURNAL:
        return None
    try:
        return date.fromisoformat(re.sub(r"\.md$", "", PurePosixPath(path).name))
    except ValueError:
        return None


JOURNALS = "old-journals-to-the-archive"
UNUSED = "files-that-nobody-uses-to-the-archive"
"""Subjects of proposals; pending ones in review queues have these."""
SPECIFIC = ("knowledge/projects/", "knowledge/people/", "knowledge/procedures/", "knowledge/reference/")
_CATEGORIES = ("knowledge/facts.md", "knowledge/decisions.md", "knowledge/playbooks.md")


@dataclass(frozen=True, slots=True)
class Plan:
    """What pruning would do."""

    memory: MemoryPlan
    journals: tuple[Move, ...]
    evicted: tuple[Move, ...]
    scores: tuple[Scored, ...]  # of the evicted files, lowest first
    proposals: tuple[Proposal, ...]  # the same as changes
    number: int  # files that would move
    too_many: str = ""  # why the number has to be confirmed, if it has to


@dataclass(eq=False)
class Retention:
    """Prunes, archives and restores. Safe across processes.

    Args:
        uses: Returns the number of prompts each file was useful in.
    """

    knowledge: Knowledge
    uses: Callable[[], Mapping[str, int]]

    @property
    def _settings(self) -> LifecycleSettings:
        return self.knowledge.config().lifecycle

    def recover(self) -> tuple[ChangeResult, ...]:
        """Finishes interrupted changes."""
        return self.knowledge.changes.recover()

    def plan(self) -> Plan:
        """What would be pruned now. Writes nothing.

        Raises:
            DocumentError: MEMORY.md cannot be read.
        """
        files, settings, now = self.knowledge.files, self._settings, self.knowledge.clock()
        links = Links(files, scan_entries(files))
        inventory = take_inventory(files.workspace, ["knowledge"])
        old = self._old(inventory.files)
        chosen = [
            each
            for each in scored(
                evictable(inventory, links),
                last_changes(self.knowledge.repository, inventory),
                self.uses(),
                links,
                now,
            )
            if each.score < MIN_SCORE and each.days > settings.evict_after_days
        ]
        going = frozenset(unlinked([each.path for each in chosen], links, old))
        scores = tuple(each for each in chosen if each.path in going)
        journals, journal_change = self._moving(links, old, JOURNALS, "old journals")
        evicted, change = self._moving(links, going, UNUSED, "unused files")
        memory = self.memory(now)
        changes = (self.memory_proposal(memory), journal_change, change)
        number = len(journals) + len(evicted)
        return Plan(
            memory, journals, evicted, scores,
            tuple(each for each in changes if each.change is not None),
            number, self._why_too_many(number),
        )  # fmt: skip

    def memory(self, now: datetime) -> MemoryPlan:
        """The plan for MEMORY.md."""
        data = self.knowledge.files.find(MEMORY) or b""
        return plan_memory(data, self.specific(), self._settings.memory_line_cap, now)

    def memory_proposal(self, plan: MemoryPlan) -> Proposal:
        """The plan for MEMORY.md as a proposal."""
        summary = plan.change.about[0] if plan.change is not None else f"MEMORY.md has {plan.lines} lines"
        over = f"MEMORY.md would still have {plan.lines_after} undated lines: shorten it by hand"
        left = (over,) if plan.stays_over else ()
        return shown(self.knowledge.files, Proposal("memory-cap", summary, plan.change, left=left))

    def specific(self, folders: Sequence[str] = (*_CATEGORIES, *SPECIFIC)) -> list[Entry]:
        """The entries of more specific files than MEMORY.md."""
        files = self.knowledge.files
        found: list[Entry] = []
        for path in sorted(take_inventory(files.workspace, ["knowledge"]).files):
            if path.startswith(tuple(folders)) and path.endswith(".md") and not hidden(path):
                try:
                    found += entries(files.read(path), path)
                except (AutopoiesisError, FileNotFoundError):
                    continue  # the doctor reports it
        return found

    def refuse_too_many(self, proposals: Iterable[Proposal], number: int | None) -> None:
        """Prevents archiving many files by accident (robustness L8).

        Raises:
            ChangeRefused: The number of files was not confirmed.
        """
        moving = sum(each.change.moving for each in proposals if each.change is not None)
        reason = self._why_too_many(moving)
        if reason and (number is None or moving > number):
            raise ChangeRefused(
                f"{moving} files would be archived, {reason}",
                hint=f"check the dry run, then confirm their number: --archive {moving}",
            )

    def _why_too_many(self, number: int) -> str:
        found = take_inventory(self.knowledge.files.workspace, ["knowledge"]).files
        return too_many(number, sum(not why_kept(path) for path in found), self._settings.most_archived)

    def old_journals(self) -> Proposal:
        """The proposal to archive journals past their retention time."""
        files = self.knowledge.files
        found = take_inventory(files.workspace, ["knowledge"]).files
        links = Links(files, scan_entries(files))
        return self._moving(links, self._old(found), JOURNALS, "old journals")[1]

    def _old(self, paths: Iterable[str]) -> list[str]:
        """Journals past their retention time."""
        today = local_day(self.knowledge.clock(), self.knowledge.config().days.time_zone)
        oldest = today - timedelta(days=self._settings.journal_retention_days)
        dated = ((path, journal_day(path)) for path in paths)
        return [path for path, day in dated if day is not None and day < oldest]

    # Archiving on request.

    def listed(self) -> list[tuple[str, int]]:
        """Archived files with their size in bytes, by path."""
        found = take_inventory(self.knowledge.files.workspace, [ARCHIVE]).files
        return sorted((path, size) for path, size in found.items() if not hidden(path))

    def archive(self, paths: Iterable[str]) -> tuple[Proposal, tuple[Move, ...]]:
        """What archiving files or folders would do. Knowledge entries are archived as a whole.

        Raises:
            ChangeRefused: One does not exist, cannot be archived, or is used by a topic or preset.
        """
        files = self.knowledge.files
        scan = scan_entries(files)
        links = Links(files, scan)
        chosen = self._chosen(paths, ("knowledge", "topics"))
        whole = _whole_entries(scan, frozenset(chosen))
        parts = tuple(f"{entry.folder}/" for entry in scan.entries)
        for path in chosen:
            if not path.startswith(whole):
                if path.startswith(parts):
                    raise ChangeRefused(
                        "belongs to a knowledge entry, which is archived as a whole",
                        where=path,
                        hint="name the folder of the entry",
                    )
                if reason := why_kept(path):
                    raise ChangeRefused(f"cannot be archived: {reason}", where=path)
            naming = [each for each in links.to(path) if each.source.startswith(("topics/", "presets/"))]
            others = [each for each in naming if each.source not in chosen]
            if others:
                raise ChangeRefused(
                    f"is loaded by {others[0].source}:{others[0].line}",
                    where=path,
                    hint="remove it there first",
                )
            if self._is_taken(archived(path)):
                raise ChangeRefused("already exists", where=archived(path), hint="move it away first")
        moves, proposal = self._moving(links, chosen, "to-the-archive")
        return proposal, moves

    def restore(self, paths: Iterable[str]) -> tuple[Proposal, tuple[Move, ...]]:
        """What restoring archived files would do; they are given by their archived or original path.

        Raises:
            ChangeRefused: One does not exist, or its original path is taken.
        """
        files = self.knowledge.files
        root = files.workspace.root
        named = [each if each.startswith(f"{ARCHIVE}/") else archived(each) for each in paths]
        chosen = self._chosen(named, (ARCHIVE,))
        for path in chosen:
            if path.startswith((f"{ARCHIVE}/memory/", f"{ARCHIVE}/merged/")):
                raise ChangeRefused(
                    "holds single entries of other files",
                    where=path,
                    hint="copy the lines you want back",
                )
            if root.joinpath(restored(path)).exists():
                raise ChangeRefused("already exists", where=restored(path), hint="move it away first")
        links = Links(files, scan_entries(files))
        moves, proposal = self._moving(links, chosen, "back-from-the-archive", back=True)
        return proposal, moves

    def note_entries(self, moves: Sequence[Move]) -> None:
        """Records in the cleanup log which knowledge entries a person has archived or restored.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        log = CleanupLog(self.knowledge.files, self.knowledge.clock)
        markers = {folder_of(each.path): each for each in moves if each.path.endswith(f"/{KNOWLEDGE.marker}")}
        for folder, marker in markers.items():
            if any(folder.startswith(f"{other}/") for other in markers):
                continue
            inside = [each for each in moves if each.path.startswith(f"{folder}/")]
            action = "restored" if folder.startswith(f"{ARCHIVE}/") else "archived"
            log.add(
                f"{action} knowledge entry {folder.rpartition('/')[2]}",
                candidates=sum(each.path.endswith(f"/{KNOWLEDGE.marker}") for each in inside),
                size=sum(each.size for each in inside),
                dry_run=False,
                human_approved=True,
                action=action,
                path=folder_of(marker.target),
            )

    def _chosen(self, paths: Iterable[str], folders: Sequence[str]) -> list[str]:
        """The given files, and all files of given folders."""
        known = take_inventory(self.knowledge.files.workspace, folders).files
        found: dict[str, None] = {}
        for path in (each.strip().strip("/") for each in paths):
            inside = [name for name in known if name == path or name.startswith(f"{path}/")]
            inside = [name for name in inside if not hidden(name) or _is_in_entry(name, known)]
            if not inside:
                raise ChangeRefused("no such file", where=path, hint="see: autopoiesis archive list")
            found.update(dict.fromkeys(inside))
        return sorted(found)

    def _moving(
        self, links: Links, paths: Iterable[str], subject: str, kind: str = "files", *, back: bool = False
    ) -> tuple[tuple[Move, ...], Proposal]:
        targets = {path: restored(path) for path in paths} if back else self._places(paths)
        what = next(iter(targets)) if len(targets) == 1 else f"{len(targets)} {kind}" if targets else kind
        summary = f"{'restore' if back else 'archive'} {what}"
        change, moves = moved(self.knowledge.files, links, targets, summary)
        left = tuple(f"broken link in {place}" for move in moves for place in move.broken)
        proposal = Proposal(subject, summary, change if moves else None, left=left)
        return tuple(moves), shown(self.knowledge.files, proposal)

    def _places(self, paths: Iterable[str]) -> dict[str, str]:
        """The archive paths of files; a number is appended if the path is taken."""
        found: dict[str, str] = {}
        for path in sorted(paths):
            place, number = archived(path), 1
            while self._is_taken(place) or place in found.values():
                number += 1
                place = f"{archived(path).removesuffix('.md')}-{number}.md"
            found[path] = place
        return found

    def _is_taken(self, path: str) -> bool:
        return self.knowledge.files.workspace.root.joinpath(path).exists()


def _is_in_entry(path: str, known: Collection[str]) -> bool:
    """Whether a file is in the folder of a knowledge entry, archived or not."""
    while path := folder_of(path):
        if f"{path}/{KNOWLEDGE.marker}" in known:
            return True
    return False


def _whole_entries(scan: EntryScan, chosen: Collection[str]) -> tuple[str, ...]:
    """The folders of the knowledge entries of which all files are chosen, each with a slash behind.

    Raises:
        ChangeRefused: One cannot be archived.
    """
    left = [path for path in scan.inventory.files if path not in chosen]
    found: list[str] = []
    for entry in scan.entries:
        below = f"{entry.folder}/"
        if entry.location not in chosen or any(path.startswith(below) for path in left):
            continue
        if reason := why_entry_kept(entry, scan.inventory):
            raise ChangeRefused(f"cannot be archived: {reason}", where=entry.folder)
        found.append(below)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Move:
    """A file and its new path."""

    path: str
    target: str
    size: int  # bytes
    broken: tuple[str, ...] = ()
    """``file:line`` of references to it, which name where it was, and of its own relative ones."""


def moved(
    files: Files, links: Links, targets: Mapping[str, str], about: str
) -> tuple[FileChange, list[Move]]:
    """The change that moves files. No reference is rewritten, so that they lead to the file again once it is
    back.

    Args:
        links: The current links.
        targets: New path by path.
        about: Description of the change.
    """
    moves: list[Move] = []
    for path, target in sorted(targets.items()):
        broken = [f"{link.source}:{link.line}" for link in links.to(path) if link.source not in targets]
        broken += [
            f"{path}:{link.line}"
            for link in links.of(path)
            if link.target not in targets and link.reference.target.startswith("../")
        ]
        size = files.workspace.root.joinpath(path).stat().st_size
        moves.append(Move(path, target, size, tuple(broken)))
    return FileChange(tuple(Step("move", move.path, move.target) for move in moves), (about,)), moves
