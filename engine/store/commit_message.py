"""Commit messages (spec 3.2): a type, one concise line, what changed, and the source conversations.

All messages are built here, so that the history can be searched by type and by session.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from engine.startup.lazy import expression
from engine.store.paths import shown

CommitType = Literal["conversation", "memory", "identity", "maintenance", "explore", "extract"]
"""``conversation``: transcripts. ``memory``: knowledge. ``identity``: who the agent is. ``maintenance``:
archiving, settings, topics, presets. ``extract``: items extracted from sessions. ``explore``, ``extract``:
also anything committed on a branch of that kind."""
TYPES: tuple[CommitType, ...] = get_args(CommitType)

SUBJECT = 72
"""Maximum length of a subject in characters, including its type."""

_TYPED = expression(rf"({'|'.join(TYPES)}): *(?=\S)")
_SESSION = "Session"


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
