"""Commits what this machine has not committed yet, before anything of the other comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.settings.file import CONFIG_FILE
from engine.store.commit_message import commit_message
from engine.sync.model import Left

if TYPE_CHECKING:
    from engine.store.repository import Repository

MESSAGE = commit_message("memory", "before a sync")

PLACES = (
    "knowledge", "topics", "presets", ".library", "raw", "conversations", "archive", "attachments", "logs",
    CONFIG_FILE, ".gitignore", ".gitattributes", ".gitmodules",
)  # fmt: skip
"""What a workspace consists of; other files that lie there are the person's own to commit."""


def commit_own(repository: Repository) -> tuple[tuple[str, ...], tuple[Left, ...]]:
    """Commits the workspace's changed files; one that cannot be committed, as for a secret in it, is left.

    Returns:
        The files that were committed, and those that were not.

    Raises:
        RepositoryError: No commit can be made.
    """
    # A folder that is a repository of its own is not ours to commit.
    paths = [path for path in repository.changed(*PLACES) if not path.endswith("/")]
    refused: dict[str, str] = {}
    try:
        made = repository.commit(paths, MESSAGE)
    except RepositoryError:
        refused = repository.refusals(paths)
        if not refused:
            raise
        paths = [path for path in paths if path not in refused]
        made = repository.commit(paths, MESSAGE)
    return tuple(paths) if made else (), tuple(Left(path, why) for path, why in refused.items())
