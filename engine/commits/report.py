"""The result of committing a batch of changes."""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.commit_message import CommitType


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A changed file that was not committed."""

    path: str
    why: str  # one clause, with what to do about it if anything
    waits: bool = False  # it is still being written and will be committed later


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit, or in a dry run what would be one."""

    kind: CommitType
    message: str
    paths: tuple[str, ...]
    revision: str = ""  # empty if no commit was made
    model: str = ""  # the model that wrote the message, if any


@dataclass(frozen=True, slots=True)
class CommitReport:
    """What was committed and what was left out."""

    commits: tuple[MadeCommit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()  # sentences about new files that were committed

    @property
    def refused(self) -> tuple[LeftOut, ...]:
        """Files that stay uncommitted until a person acts."""
        return tuple(each for each in self.left_out if not each.waits)
