"""A change of curated files that a command made, committed where that is wanted and possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.repository import Repository


@dataclass(frozen=True, slots=True)
class ChangeCommit:
    """What became of a change in the history."""

    revision: str = ""
    """The commit's object name; empty where none was made."""
    why: str = ""
    """Why none was made."""
    failed: bool = False
    """It was wanted, and git could not make it."""


def commit_change(
    repository: Callable[[], Repository], paths: Sequence[str], message: str, *, wanted: bool
) -> ChangeCommit:
    """Commits files that have been written; one that git cannot take stays as it is on disk.

    Args:
        repository: Where; made only when something is to be committed.
        paths: Workspace-relative paths.
        wanted: Whether the settings want it (``git.auto_commit``).
    """
    if not wanted:
        return ChangeCommit(why="git.auto_commit is off")
    try:
        found = repository().commit(paths, message)
    except AutopoiesisError as error:
        return ChangeCommit(why=str(error), failed=True)
    return ChangeCommit(found) if found else ChangeCommit(why="nothing new to commit")
