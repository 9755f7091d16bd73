"""Commits local changes before a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.settings.file import CONFIG_FILE
from engine.store.commit_message import commit_message
from engine.sync.model import Uncommitted

if TYPE_CHECKING:
    from engine.store.repository import Repository

MESSAGE = commit_message("memory", "before a sync")

PLACES = (
    "knowledge", "topics", "presets", ".library", "raw", "conversations", "archive", "attachments", "logs",
    CONFIG_FILE, ".gitignore", ".gitattributes", ".gitmodules",
)  # fmt: skip
"""The parts of a workspace; the user commits any other files in the folder."""


def commit_own(repository: Repository) -> tuple[tuple[str, ...], tuple[Uncommitted, ...]]:
    """Commits the workspace's changed files, except those that are refused, e.g. for a secret.

    Returns:
        The committed files, and the refused ones.

    Raises:
        RepositoryError: No commit can be made.
    """
    # A trailing slash marks a nested repository.
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
    return tuple(paths) if made else (), tuple(Uncommitted(path, why) for path, why in refused.items())
