"""The input of every benchmark: a working folder, and the amount of work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.store.paths import Workspace
from engine.workspace.initialise import initialise


@dataclass(frozen=True)
class Setting:
    """Where to work, and how much.

    Attributes:
        folder: Initially empty; each benchmark creates its own folders in it.
        quick: Do only enough to run everything once, to test that it works and not how fast it is.
        data: The benchmark data, if given.
    """

    folder: Path
    quick: bool = False
    data: Path | None = None

    def size(self, full: int, quick: int) -> int:
        """A number of rounds, files or topics."""
        return quick if self.quick else full

    def sizes(self, *full: int) -> tuple[int, ...]:
        """A series of sizes; a quick run uses only the first."""
        return full[:1] if self.quick else full

    @cached_property
    def sample(self) -> Path:
        """The sample workspace, created on first use."""
        root = self.folder / "sample"
        initialise(root, sample=True)
        return root

    def workspace(self, name: str) -> Workspace:
        """A new, empty workspace."""
        root = self.folder / name
        root.mkdir()
        (root / "memory-config.yaml").write_text("")
        return Workspace.open(root)
