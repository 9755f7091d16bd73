"""Prompts with a stable prefix of a few short files, and a clock that is advanced manually."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.context.compiled import Compiled
from engine.context.compiler import CompileRequest, ContextCompiler, WorkspaceSource
from engine.settings.model import CompilerSettings
from engine.stability.log import PrefixLog
from engine.store.files import Files
from engine.store.paths import Workspace

SOUL = "knowledge/identity/SOUL.md"
MEMORY = "knowledge/memory/MEMORY.md"
DIGEST = "knowledge/digest.md"
ENTRY = "knowledge/gauges/KNOWLEDGE.md"
START = datetime(2026, 6, 12, 8, 0, tzinfo=UTC)


@dataclass
class Desk:
    """A workspace, its prompts and the log of their prefixes."""

    root: Path
    now: datetime = START

    def __post_init__(self) -> None:
        self.files = Files(Workspace.open(self.root))
        self.problems: list[str] = []
        self.log = PrefixLog(self.files, lambda: self.now, self.problems.append)
        self._compiler = ContextCompiler(WorkspaceSource(self.files), CompilerSettings())

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def compile(self, message: str = "Hello") -> Compiled:
        """The prompt for a message."""
        return self._compiler.compile(CompileRequest(message=message, today=self.now.date()))

    def turn(self, discussion: str = "ses_a", *, after: float = 60) -> None:
        """Record the use of a prompt, ``after`` seconds later than the previous one."""
        self.now += timedelta(seconds=after)
        assert self.log.note(self.compile(f"It is {self.now}"), discussion) is not None


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace with one file in each of the cached layers."""
    (tmp_path / "memory-config.yaml").write_text("")
    desk = Desk(tmp_path)
    desk.write(SOUL, "---\ntype: identity\n---\n\nI am.\nI answer.\n")
    desk.write(MEMORY, "# Memory\n- a fact\n")
    desk.write(ENTRY, "---\nname: gauges\ndescription: about gauges\n---\nText.\n")
    desk.write(DIGEST, "- a digest\n")
    return desk
