"""A workspace of knowledge entries, written file by file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from engine.errors import Problem
from engine.knowledge.entries import EntryScan, scan_entries
from engine.knowledge.knowledge_entries import KnowledgeEntries
from engine.knowledge.links import Links, all_problems
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository

NOON = datetime(2026, 6, 12, 12, 0, tzinfo=UTC)


class CountedFiles(Files):
    """Files that count how often they are read."""

    reads = 0

    def read(self, relative: str, *, limit: int | None = None) -> bytes:
        """Works like ``Files.read``."""
        self.reads += 1
        return super().read(relative, limit=limit)


class EntrySpace:
    """A workspace that has no repository until ``commit`` creates one."""

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        root.mkdir(exist_ok=True)
        (root / "memory-config.yaml").touch()
        self.workspace = Workspace.open(root)
        self.root = self.workspace.root
        self.files = CountedFiles(self.workspace, read_only=read_only)
        self.repository = Repository(self.workspace)
        self.desk = KnowledgeEntries(self.files, lambda: self.repository, lambda: NOON)

    def write(self, path: str, text: str | bytes) -> None:
        """Writes a file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())

    def entry(self, folder: str, body: str = "", *, name: str = "", about: str = "What it holds.") -> str:
        """Writes an entry, or a skill if the folder is in ``.library``; returns its location."""
        marker = "SKILL.md" if folder.startswith(".library/") else "KNOWLEDGE.md"
        name = name or folder.rpartition("/")[2]
        self.write(f"{folder}/{marker}", f"---\nname: {name}\ndescription: {about}\n---\n{body}")
        return f"{folder}/{marker}"

    def commit(self) -> None:
        """Creates the repository and commits everything."""
        self.repository.init()
        paths = [path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()]
        self.repository.commit(
            [path for path in paths if not path.startswith((".git/", "scratch/", "logs/"))], "all"
        )

    def scan(self) -> EntryScan:
        """Scans the entries."""
        return scan_entries(self.files)

    def links(self) -> Links:
        """Returns the references."""
        return Links(self.files, self.scan())

    def problems(self) -> tuple[Problem, ...]:
        """Returns the problems of entries and references."""
        scan = self.scan()
        return all_problems(scan, Links(self.files, scan))

    def problem_lines(self) -> list[str]:
        """Returns the problems as lines of text."""
        return [f"{problem.severity}: {problem}" for problem in self.problems()]
