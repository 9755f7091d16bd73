"""Starts and ends sessions, and commits their transcripts (spec 3.2, 8.2 and 10.1)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import RepositoryError
from engine.store.change import commit_message
from engine.store.repository import Repository
from engine.transcripts.capture import ConversationCapture


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A finished transcript."""

    path: str
    revision: str = ""  # its commit; empty if none was made
    why: str = ""  # why there is no commit

    def __str__(self) -> str:
        return (
            f"{self.path} committed as {self.revision[:8]}" if self.revision else f"{self.path} ({self.why})"
        )


def new_session_id() -> str:
    """A random session id: ``ses_`` and eight hexadecimal digits."""
    return f"ses_{secrets.token_hex(4)}"


def message_of(path: str) -> str:
    """The commit message for a transcript."""
    slug = path.rsplit("/", 1)[-1].removesuffix(".md").split("-", 2)[-1]
    return commit_message("conversation", slug, sessions=[path])


def end_session(
    capture: ConversationCapture,
    repository: Repository,
    session_id: str,
    *,
    tokens_in: int = 0,
    tokens_out: int = 0,
    tags: Iterable[str] = (),
    commit: bool = True,
) -> EndedSession:
    """Finishes a transcript and commits it; without a usable repository it stays uncommitted.

    Raises:
        TranscriptError: The session was never started, or has already ended.
        WriteFailed, ReadOnly: The header was not written.
    """
    path = capture.end(session_id, tokens_in=tokens_in, tokens_out=tokens_out, tags=tags)
    if not commit:
        return EndedSession(path, why="git.auto_commit is off")
    try:
        revision = repository.commit([path], message_of(path))
    except RepositoryError as error:
        return EndedSession(path, why=f"not committed: {error}")
    return EndedSession(path, revision or "", "" if revision else "nothing new to commit")
