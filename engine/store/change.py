"""Commits a command's change to curated files if the settings ask for it and git can do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.repository import Repository

Commit = Callable[[Sequence[str], str], "ChangeCommit"]
"""Commits written files, given by workspace-relative path, with a message, if the settings allow it."""


@dataclass(frozen=True, slots=True)
class ChangeCommit:
    """Result of committing a change."""

    revision: str = ""
    """The commit's object name; empty if no commit was made."""
    why: str = ""
    """Why no commit was made."""
    failed: bool = False
    """True if a commit was requested and git failed."""


def commit_change(
    repository: Callable[[], Repository], paths: Sequence[str], message: str, *, wanted: bool
) -> ChangeCommit:
    """Commit files already written to disk; if git fails, the files stay as written.

    Args:
        repository: Creates the repository object; called only if there is something to commit.
        paths: Workspace-relative paths.
        wanted: Whether automatic commits are enabled (``git.auto_commit``).
    """
    if not wanted:
        return ChangeCommit(why="git.auto_commit is off")
    try:
        found = repository().commit(paths, message)
    except AutopoiesisError as error:
        return ChangeCommit(why=str(error), failed=True)
    return ChangeCommit(found) if found else ChangeCommit(why="nothing new to commit")
