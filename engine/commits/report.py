"""What became of a batch of changes."""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.commit_message import CommitType


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A changed file that is in no commit."""

    path: str
    why: str  # one clause, with what to do where something is
    waits: bool = False  # it is only too early: it is still being written


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit, or what would be one."""

    kind: CommitType
    message: str
    paths: tuple[str, ...]
    revision: str = ""  # empty when it was not made
    model: str = ""  # who worded its message; empty for none


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What was committed, and what was not."""

    commits: tuple[MadeCommit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def refused(self) -> tuple[LeftOut, ...]:
        """What is in no commit until a person does something."""
        return tuple(each for each in self.left_out if not each.waits)
