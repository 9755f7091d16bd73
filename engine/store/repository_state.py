"""What a repository is busy with, and what git says of its files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RepositoryKind = Literal[
    "ok", "none", "no-git", "no-identity", "detached", "merging", "rebasing", "picking", "reverting",
    "bisecting", "conflicts", "locked", "broken",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """What the repository is busy with."""

    kind: RepositoryKind
    """``ok`` when commits can be made."""
    branch: str = ""
    """The branch; empty when there is none."""
    dirty: int = 0
    """Files that differ from the newest commit, new ones included."""
    why: str = ""
    """Why it is not ``ok``, in one clause."""
    cure: str = ""

    @property
    def can_commit(self) -> bool:
        """Whether a commit would be accepted."""
        return self.kind == "ok"


def read_status(output: bytes) -> tuple[int, bool]:
    """How many files have changed, and whether there are conflicts."""
    entries = iter(output.split(b"\0"))
    kinds = []
    for entry in entries:
        kinds.append(entry[:2])
        if entry.startswith(b"2 "):
            next(entries, None)  # what it was called before
    return sum(kind in (b"1 ", b"2 ", b"u ", b"? ") for kind in kinds), b"u " in kinds
