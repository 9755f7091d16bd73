"""Commits a command's change to curated files if the settings ask for it and git can do it.

All commit messages are built here (spec 3.2): a type, one concise line, what changed, and the source
conversations. So the history can be searched by type and by session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from engine.errors import AutopoiesisError
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.store.repository import Repository

Commit = Callable[[Sequence[str], str], "ChangeCommit"]
"""Commits written files, given by workspace-relative path, with a message, if the settings allow it."""

CommitType = Literal["conversation", "memory", "identity", "maintenance", "explore", "extract"]
"""``conversation``: transcripts. ``memory``: knowledge. ``identity``: who the agent is. ``maintenance``:
archiving, settings, topics, presets. ``extract``: items extracted from sessions. ``explore``, ``extract``:
also anything committed on a branch of that kind."""
TYPES: tuple[CommitType, ...] = get_args(CommitType)

SUBJECT = 72
"""Maximum length of a subject in characters, including its type."""

_TYPED = expression(rf"({'|'.join(TYPES)}): *(?=\S)")
_SESSION = "Session"


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


def commit_message(
    kind: CommitType,
    summary: str,
    body: str = "",
    *,
    sessions: Iterable[str] = (),
    trailers: Iterable[tuple[str, str]] = (),
) -> str:
    """A commit message: ``<kind>: <summary>``, the body, and trailers, one per line.

    Args:
        summary: What was done. If it is too long for a subject, the full text goes into the body.
        body: What changed and why; may be empty.
        sessions: Paths of the source conversations.
        trailers: Additional trailers, by name.
    """
    line = " ".join(summary.split())
    subject = f"{kind}: {line}"
    if len(subject) > SUBJECT:
        body = f"{line}\n\n{body}"
        cut = subject[: SUBJECT - 1]
        words = cut.rpartition(" ")[0]
        subject = f"{words if len(words) > SUBJECT // 2 else cut}…"
    last = [*((_SESSION, path) for path in dict.fromkeys(sessions)), *trailers]
    ending = "\n".join(f"{name}: {shown(value)}" for name, value in last)
    return "\n\n".join(part for part in (subject, body.strip(), ending) if part)


def typed(text: str) -> tuple[CommitType | None, str]:
    """Split a message into its type prefix (``None`` if it has none) and the rest."""
    match = _TYPED.match(text)
    if match is None:
        return None, text
    kind = next(each for each in TYPES if each == match[1])
    return kind, text[match.end() :]
