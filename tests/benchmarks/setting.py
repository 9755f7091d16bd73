"""What every benchmark is given: a folder to work in, and how much to do there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.store.paths import Workspace
from engine.workspace.initialise import initialise


@dataclass(frozen=True)
class Setting:
    """Where and how much.

    Attributes:
        folder: Empty at first; each benchmark makes folders of its own in it.
        quick: Do the least that still runs everything: to see that it works, not how fast it is.
        data: Benchmark data, where it was given.
    """

    folder: Path
    quick: bool = False
    data: Path | None = None

    def size(self, full: int, quick: int) -> int:
        """A number of rounds, files or topics."""
        return quick if self.quick else full

    def sizes(self, *full: int) -> tuple[int, ...]:
        """A series of sizes, of which a quick run only takes the first."""
        return full[:1] if self.quick else full

    @cached_property
    def sample(self) -> Path:
        """The sample workspace, made when it is first asked for."""
        root = self.folder / "sample"
        initialise(root, sample=True)
        return root

    def workspace(self, name: str) -> Workspace:
        """A new workspace without anything in it."""
        root = self.folder / name
        root.mkdir()
        (root / "memory-config.yaml").write_text("")
        return Workspace.open(root)
