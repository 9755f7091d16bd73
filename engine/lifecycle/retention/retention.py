"""What leaves the working set: MEMORY.md above its cap, old journals, files that nobody uses (spec 8.5,
8.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engine.context.sources import MEMORY
from engine.errors import AutopoiesisError, ChangeRefused
from engine.knowledge.category_files import Entry, entries
from engine.knowledge.entries import scan_entries
from engine.knowledge.harvest.reclaim import too_many
from engine.knowledge.inventory import hidden, take_inventory
from engine.knowledge.links import Links
from engine.lifecycle.proposals import Done, Proposal, apply, shown
from engine.lifecycle.retention.eviction import (
    LEAST_SCORE,
    Scored,
    evictable,
    last_changes,
    scored,
    unlinked,
)
from engine.lifecycle.retention.memory import MemoryPlan, plan_memory
from engine.lifecycle.retention.moving import Move, moved
from engine.lifecycle.retention.places import ARCHIVE, archived, journal_day, restored, why_kept
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.knowledge.changing import ChangeResult
    from engine.knowledge.knowledge import Knowledge
    from engine.settings.model import LifecycleSettings

JOURNALS = "old journals to the archive"
SPECIFIC = ("knowledge/projects/", "knowledge/people/", "knowledge/procedures/", "knowledge/reference/")
_CATEGORIES = ("knowledge/facts.md", "knowledge/decisions.md", "knowledge/playbooks.md")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pruning would do."""

    memory: MemoryPlan
    journals: tuple[Move, ...]
    evicted: tuple[Move, ...]
    scores: tuple[Scored, ...]  # of the files that would go, the lowest first
    proposals: tuple[Proposal, ...]  # the same as changes, one for each that has something to do
    number: int  # files that would move
    too_many: str = ""  # why their number has to be typed; empty where they may just go


@dataclass(eq=False)
class Retention:
    """Prunes, archives and restores. Safe to use from several processes.

    Args:
        uses: In how many prompts each file was of use.
    """

    knowledge: Knowledge
    uses: Callable[[], Mapping[str, int]]

    @property
    def _settings(self) -> LifecycleSettings:
        return self.knowledge.config().lifecycle

    def recover(self) -> tuple[ChangeResult, ...]:
        """Finishes what was interrupted while files were moved or changed."""
        return self.knowledge.changes.recover()

    def plan(self) -> Plan:
        """What would leave the working set now. Writes nothing.

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
            if each.score < LEAST_SCORE and each.days > settings.evict_after_days
        ]
        going = frozenset(unlinked([each.path for each in chosen], links, old))
        scores = tuple(each for each in chosen if each.path in going)
        journals, journal_change = self._moving(links, old, JOURNALS)
        evicted, change = self._moving(links, going, "files that nobody uses to the archive")
        memory = self.memory(now)
        changes = (self.of_memory(memory), journal_change, change)
        number = len(journals) + len(evicted)
        return Plan(
            memory, journals, evicted, scores,
            tuple(each for each in changes if each.change is not None),
            number, self._why_too_many(number),
        )  # fmt: skip

    def memory(self, now: datetime) -> MemoryPlan:
        """What is to become of MEMORY.md."""
        try:
            data = self.knowledge.files.read(MEMORY)
        except FileNotFoundError:
            data = b""
        return plan_memory(data, self.specific(), self._settings.memory_line_cap, now)

    def of_memory(self, plan: MemoryPlan) -> Proposal:
        """The same as a change."""
        summary = plan.change.about[0] if plan.change is not None else f"MEMORY.md has {plan.lines} lines"
        over = f"MEMORY.md would still have {plan.lines_after} lines, all without a day: shorten it by hand"
        left = (over,) if plan.stays_over else ()
        return shown(self.knowledge.files, Proposal("memory-cap", summary, plan.change, left=left))

    def specific(self, folders: Sequence[str] = (*_CATEGORIES, *SPECIFIC)) -> list[Entry]:
        """The entries of files that are about one matter each."""
        files = self.knowledge.files
        found: list[Entry] = []
        for path in sorted(take_inventory(files.workspace, ["knowledge"]).files):
            if path.startswith(tuple(folders)) and path.endswith(".md") and not hidden(path):
                try:
                    found += entries(files.read(path), path)
                except (AutopoiesisError, FileNotFoundError):
                    continue  # the doctor tells of it
        return found

    def apply(self, plan: Plan, number: int | None = None) -> list[Done]:
        """Makes a plan come true, each of its parts as one commit.

        Args:
            number: Files that may move, where that has to be said.

        Raises:
            ChangeRefused: Too many files would move; nothing was done.
            WriteFailed, ReadOnly: A part was not made to the end; a rerun finishes it.
        """
        self.refuse_too_many(plan.proposals, number)
        return apply(self.knowledge, plan.proposals)

    def refuse_too_many(self, proposals: Iterable[Proposal], number: int | None) -> None:
        """The brake on mass archiving (robustness L8).

        Raises:
            ChangeRefused: So many files move only after their number was typed.
        """
        moving = sum(each.change.moving for each in proposals if each.change is not None)
        why = self._why_too_many(moving)
        if why and (number is None or moving > number):
            raise ChangeRefused(
                f"{moving} files would be archived, {why}",
                hint=f"look at the dry run; then say so by their number: --archive {moving}",
            )

    def _why_too_many(self, number: int) -> str:
        found = take_inventory(self.knowledge.files.workspace, ["knowledge"]).files
        return too_many(number, sum(not why_kept(path) for path in found), self._settings.most_archived)

    def old_journals(self) -> Proposal:
        """The move of journals to the archive that are older than they are kept."""
        files = self.knowledge.files
        found = take_inventory(files.workspace, ["knowledge"]).files
        return self._moving(Links(files, scan_entries(files)), self._old(found), JOURNALS)[1]

    def _old(self, paths: Iterable[str]) -> list[str]:
        """Journals that are older than they are kept."""
        today = local_day(self.knowledge.clock(), self.knowledge.config().days.time_zone)
        oldest = today - timedelta(days=self._settings.journal_retention_days)
        dated = ((path, journal_day(path)) for path in paths)
        return [path for path, day in dated if day is not None and day < oldest]

    # The archive, by hand.

    def listed(self) -> list[tuple[str, int]]:
        """Archived files with their bytes, by path; knowledge entries are listed by ``knowledge_entries``."""
        found = take_inventory(self.knowledge.files.workspace, [ARCHIVE]).files
        return sorted((path, size) for path, size in found.items() if not hidden(path))

    def archive(self, paths: Iterable[str]) -> tuple[Proposal, tuple[Move, ...]]:
        """What archiving files, or the files of folders, would do.

        Raises:
            ChangeRefused: One is not there, may not be archived, or a topic or preset names it.
        """
        files = self.knowledge.files
        scan = scan_entries(files)
        links = Links(files, scan)
        chosen = self._chosen(paths, ("knowledge", "topics"))
        entries_of = tuple(f"{entry.folder}/" for entry in scan.entries)
        for path in chosen:
            if path.startswith(entries_of):
                raise ChangeRefused(
                    "belongs to a knowledge entry, which goes whole",
                    where=path,
                    hint="run: autopoiesis knowledge archive",
                )
            if why := why_kept(path):
                raise ChangeRefused(f"is not archived: {why}", where=path)
            naming = [each for each in links.to(path) if each.source.startswith(("topics/", "presets/"))]
            others = [each for each in naming if each.source not in chosen]
            if others:
                raise ChangeRefused(
                    f"is named by {others[0].source}:{others[0].line}, which would load it",
                    where=path,
                    hint="take it out there first",
                )
            if self._is_taken(archived(path)):
                raise ChangeRefused("exists already", where=archived(path), hint="move it away first")
        moves, proposal = self._moving(links, chosen, "to the archive")
        return proposal, moves

    def restore(self, paths: Iterable[str]) -> tuple[Proposal, tuple[Move, ...]]:
        """What bringing archived files back would do; they are named by their place in the archive, or by the
        one that they had.

        Raises:
            ChangeRefused: One is not there, or its place is taken.
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
                    hint="copy the lines that are wanted back",
                )
            if root.joinpath(restored(path)).exists():
                raise ChangeRefused("exists already", where=restored(path), hint="move it away first")
        links = Links(files, scan_entries(files))
        moves, proposal = self._moving(links, chosen, "back from the archive", back=True)
        return proposal, moves

    def _chosen(self, paths: Iterable[str], folders: Sequence[str]) -> list[str]:
        """The files that are named, those of named folders among them."""
        known = take_inventory(self.knowledge.files.workspace, folders).files
        found: dict[str, None] = {}
        for path in (each.strip().strip("/") for each in paths):
            inside = [name for name in known if name == path or name.startswith(f"{path}/")]
            inside = [name for name in inside if not hidden(name)]
            if not inside:
                raise ChangeRefused("there is no such file", where=path, hint="see: autopoiesis archive list")
            found.update(dict.fromkeys(inside))
        return sorted(found)

    def _moving(
        self, links: Links, paths: Iterable[str], what: str, *, back: bool = False
    ) -> tuple[tuple[Move, ...], Proposal]:
        targets = {path: restored(path) for path in paths} if back else self._places(paths)
        change, moves = moved(self.knowledge.files, links, targets, what)
        one = next(iter(targets), "")
        count = f"{len(targets)} files: " if targets else ""
        summary = f"{one} {what}" if len(targets) == 1 else f"{count}{what}"
        left = tuple(f"{place} will lead nowhere" for move in moves for place in move.broken)
        proposal = Proposal(what.replace(" ", "-"), summary, change if moves else None, left=left)
        return tuple(moves), shown(self.knowledge.files, proposal)

    def _places(self, paths: Iterable[str]) -> dict[str, str]:
        """Where files go; what came again under the name of one that is archived has a number behind it."""
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

    def made(self, proposal: Proposal) -> Done:
        """Makes one change come true.

        Raises:
            ChangeRefused: It cannot be made.
            WriteFailed, ReadOnly: It was not made to the end; a rerun finishes it.
        """
        if proposal.refused:
            raise ChangeRefused(proposal.refused)
        (done,) = apply(self.knowledge, [proposal])
        return done
