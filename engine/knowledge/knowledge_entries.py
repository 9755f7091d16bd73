"""Knowledge entries of an open workspace: catalog, checks, footprint and archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engine.errors import Problem
from engine.knowledge.entries import EntryScan, scan_entries
from engine.knowledge.tool import TOOLS, answer, catalog_text
from engine.store.change import commit_change

if TYPE_CHECKING:
    from engine.context.tools import ToolDefinition
    from engine.knowledge.archive import ArchiveReport, EntryArchive
    from engine.knowledge.footprint import Footprint
    from engine.knowledge.links import Links
    from engine.store.files import Files
    from engine.store.repository import Repository


@dataclass(eq=False)
class KnowledgeEntries:
    """The entries of an open workspace. Thread-safe: every call re-reads the files."""

    files: Files
    repository: Callable[[], Repository]
    committing: Callable[[], bool]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None] = lambda _problem: None

    def scan(self) -> EntryScan:
        """The current entries."""
        return scan_entries(self.files)

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The tools offered to models."""
        return TOOLS

    def answer(self, name: str, arguments: object) -> str:
        """Answers a call of one of the ``tools``. Never raises for malformed calls."""
        return answer(name, arguments, self.files)

    def info(self) -> str:
        """The answer to ``knowledge({"action": "info"})``."""
        return catalog_text(self.scan())

    def links(self, scan: EntryScan) -> Links:
        """The references in the files, for a fresh scan."""
        from engine.knowledge.links import Links  # noqa: PLC0415 — not needed for the catalog

        return Links(self.files, scan)

    def problems(self) -> tuple[Problem, ...]:
        """Problems with entries, skills and references, and unfinished moves."""
        from engine.knowledge.links import all_problems  # noqa: PLC0415 — not needed for the catalog

        scan = self.scan()
        return (*self._archive.unfinished(), *all_problems(scan, self.links(scan)))

    def footprint(self) -> Footprint:
        """Audits the size of the entries; recorded if the workspace is writable."""
        from engine.knowledge.footprint import CleanupLog, audit  # noqa: PLC0415 — only on demand

        scan = self.scan()
        return audit(scan, self.links(scan), self.repository, CleanupLog(self.files, self.clock))

    def archive(self, names: Sequence[str], *, apply: bool = False, consent: bool = False) -> ArchiveReport:
        """As ``EntryArchive.archive``."""
        return self._archive.archive(names, apply=apply, consent=consent)

    def restore(self, name: str) -> ArchiveReport:
        """As ``EntryArchive.restore``."""
        return self._archive.restore(name)

    def archived(self) -> list[str]:
        """The folders of archived entries."""
        return self._archive.archived()

    @cached_property
    def _archive(self) -> EntryArchive:
        from engine.knowledge.archive import EntryArchive  # noqa: PLC0415 — only on demand
        from engine.knowledge.footprint import CleanupLog  # noqa: PLC0415 — only on demand

        return EntryArchive(
            self.files,
            lambda paths, message: commit_change(self.repository, paths, message, wanted=self.committing()),
            CleanupLog(self.files, self.clock),
            self.on_problem,
        )
