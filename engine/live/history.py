"""The recent past of a workspace, read from its files and its repository, for a feed to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import RepositoryError
from engine.live.feed import FeedEntry, entry_of_turn

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversations
    from engine.store.paths import Workspace
    from engine.store.repository import Repository

_MOST_FILES = 40
_MOST_COMMITS = 20


def recent_past(
    workspace: Workspace, conversations: Conversations, repository: Repository, limit: int
) -> list[FeedEntry]:
    """The last turns and commits, oldest first.

    ``limit`` is about the number of lines; of the newest 40 conversations at most.
    """
    entries: list[FeedEntry] = []
    for path in conversations.newest(_MOST_FILES):
        conversation = conversations.read(path)
        if conversation is None:
            continue
        numbered = enumerate(zip(conversation.turns, conversation.times, strict=True), conversation.first)
        entries += [entry_of_turn(turn, at, f"{path}#{ordinal}") for ordinal, (turn, at) in numbered]
        if len(entries) >= limit:
            break
    try:
        commits = repository.log(_MOST_COMMITS)
    except RepositoryError:
        commits = []
    # Oldest first already here: commits of one second stay in their order.
    entries += [
        FeedEntry(commit.at, "commit", commit.subject, commit.revision[:7]) for commit in reversed(commits)
    ]
    entries.sort(key=lambda entry: entry.at)
    return entries[-limit:]
