"""What a commit says (spec 3.2): a type, one concise line, what changed, and the conversations it came from.

Every message of ours is made here, so that the history can be read, and searched, by type and by session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

from engine.store.paths import shown

CommitType = Literal["conversation", "memory", "identity", "maintenance", "explore", "extract"]
"""``conversation``: transcripts. ``memory``: knowledge. ``identity``: who the agent is. ``maintenance``: what
keeps memory in order: archiving, settings, topics, presets. ``extract``: what an extraction took out of
sessions. ``explore``, ``extract``: whatever is committed on a branch of that kind."""
TYPES: tuple[CommitType, ...] = get_args(CommitType)

SUBJECT = 72
"""Characters of a subject at most, its type included."""

_TYPED = re.compile(rf"({'|'.join(TYPES)}): *(?=\S)")
_SESSION = "Session"


def commit_message(
    kind: CommitType,
    summary: str,
    body: str = "",
    *,
    sessions: Iterable[str] = (),
    trailers: Iterable[tuple[str, str]] = (),
) -> str:
    """A commit's message: ``<kind>: <summary>``, the body, and trailers, one a line.

    Args:
        summary: What was done. Of one that is too long for a subject, the whole stands in the body.
        body: What changed and why; may be empty.
        sessions: Paths of the conversations that taught it.
        trailers: Further ones, by name.
    """
    said = " ".join(summary.split())
    subject = f"{kind}: {said}"
    if len(subject) > SUBJECT:
        body = f"{said}\n\n{body}"
        cut = subject[: SUBJECT - 1]
        subject = f"{cut.rpartition(' ')[0] if cut.count(' ') > 1 else cut}…"
    last = [*((_SESSION, path) for path in dict.fromkeys(sessions)), *trailers]
    ending = "\n".join(f"{name}: {shown(value)}" for name, value in last)
    return "\n\n".join(part for part in (subject, body.strip(), ending) if part)


def typed(text: str) -> tuple[CommitType | None, str]:
    """The type that a message begins with, ``None`` for none, and the rest of it."""
    match = _TYPED.match(text)
    if match is None:
        return None, text
    kind = next(each for each in TYPES if each == match[1])
    return kind, text[match.end() :]
