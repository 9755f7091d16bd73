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
    ahead: int = 0
    """Commits the upstream branch lacks; 0 without an upstream."""
    behind: int = 0
    """Commits of the upstream branch not yet here."""
    why: str = ""
    """Why it is not ``ok``, in one clause."""
    cure: str = ""

    @property
    def can_commit(self) -> bool:
        """Whether a commit would be accepted."""
        return self.kind == "ok"


def read_status(output: bytes) -> tuple[int, int, int, bool]:
    """Changed files, ahead, behind, and whether there are conflicts."""
    dirty = ahead = behind = 0
    conflicts = False
    entries = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    for entry in entries:
        if entry.startswith("# branch.ab "):
            plus, minus = entry.split()[2:4]
            ahead, behind = int(plus), -int(minus)
        elif entry[:2] in ("1 ", "2 ", "u ", "? "):
            dirty += 1
            conflicts = conflicts or entry.startswith("u ")
            if entry.startswith("2 "):
                next(entries, None)
    return dirty, ahead, behind, conflicts
