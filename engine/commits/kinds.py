"""Changed files, and the type of their commit (spec 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.store.change import CommitType

OWN = (
    "knowledge",
    "topics",
    "presets",
    "archive",
    "attachments",
    ".library",
    "memory-config.yaml",
    "probes.yaml",
)
"""Paths committed at intervals. Transcripts are committed when their session ends, conversations when they
are harvested. Logs go with other changes, since every message adds to them."""

LOGS = "logs"
ASIDE = ("explore/", "extract/")
"""Branches beside the main line."""
TALK = ("raw/", "conversations/")
IDENTITY = "knowledge/identity/"
ARCHIVES = ("archive/", "knowledge/archive/")
_UPKEEP = (
    *ARCHIVES,
    f"{LOGS}/",
    "topics/",
    "presets/",
    ".library/",
    "memory-config.yaml",
    "probes.yaml",
    ".git",
)
"""Paths that organise memory rather than being part of it; includes ``.gitignore`` and ``.gitattributes``."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs from the newest commit."""

    path: str
    before: bytes | None  # in the newest commit; ``None`` if new
    after: bytes | None  # on disk; ``None`` if deleted

    def lines(self) -> tuple[list[str], list[str]]:
        """The added and the removed lines, regardless of position; empty for a binary file."""
        old, new = (Counter(_lines(data)) for data in (self.before, self.after))
        return list((new - old).elements()), list((old - new).elements())


def kind_of(changes: Sequence[FileChange], branch: str = "") -> CommitType:
    """The type of a commit.

    ``explore`` or ``extract`` on such a branch; ``conversation`` if only conversations changed; ``identity``
    if only ``knowledge/identity/`` changed, apart from logs; ``maintenance`` if only the archive (including
    files moved there), topics, presets, skills, settings, probes or logs changed; otherwise ``memory``.
    """
    if branch.startswith(ASIDE):
        return "explore" if branch.startswith("explore/") else "extract"
    paths = [change.path for change in changes]
    if all(path.startswith(TALK) for path in paths):
        return "conversation"
    who = [path.startswith(IDENTITY) for path in paths if not path.startswith(f"{LOGS}/")]
    if who and all(who):
        return "identity"
    archived = {change.after for change in changes if change.path.startswith(ARCHIVES)} - {None}
    rest = (
        change
        for change in changes
        if not change.path.startswith(_UPKEEP) and not (change.after is None and change.before in archived)
    )
    return "memory" if any(rest) else "maintenance"


def text_of(data: bytes | None) -> str:
    """A file's text; empty for a binary one, by git's rule."""
    data = data or b""
    return "" if b"\0" in data[:8000] else data.decode("utf-8", "replace")


def _lines(data: bytes | None) -> Iterator[str]:
    return (line for line in text_of(data).splitlines() if line.strip())
