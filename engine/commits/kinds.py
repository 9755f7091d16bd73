"""What a batch of changed files is, and which type its commit has (spec 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.store.commit_message import CommitType

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
"""What of a workspace is committed at intervals. Transcripts are when their session ends, conversations that
wait when they are harvested; logs go with what they tell of."""

TALK = ("raw/", "conversations/")
IDENTITY = "knowledge/identity/"
ARCHIVES = ("archive/", "knowledge/archive/")
_ORDER = (*ARCHIVES, "topics/", "presets/", ".library/", "memory-config.yaml", "probes.yaml", ".git")
"""What keeps memory in order rather than being it; ``.gitignore`` and ``.gitattributes`` too."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that differs from the newest commit."""

    path: str
    before: bytes | None  # in the newest commit; ``None``: it is new
    after: bytes | None  # on disk; ``None``: it is gone

    def lines(self) -> tuple[list[str], list[str]]:
        """The lines that came and those that went, wherever in the file; none of a binary file."""
        old, new = (Counter(_lines(data)) for data in (self.before, self.after))
        return list((new - old).elements()), list((old - new).elements())


def kind_of(changes: Sequence[FileChange], branch: str = "") -> CommitType:
    """The type of a commit.

    On a branch ``explore/…`` or ``extract/…`` it is that. Otherwise ``conversation`` of conversations alone,
    ``identity`` of ``knowledge/identity/`` alone, ``maintenance`` where nothing but what keeps memory in
    order has changed: the archive and what was moved there, topics, presets, skills, settings, probes.
    Everything else is ``memory``.
    """
    if branch.startswith("explore/"):
        return "explore"
    if branch.startswith("extract/"):
        return "extract"
    paths = [change.path for change in changes]
    if all(path.startswith(TALK) for path in paths):
        return "conversation"
    if all(path.startswith(IDENTITY) for path in paths):
        return "identity"
    archived = {change.after for change in changes if change.path.startswith(ARCHIVES)} - {None}
    rest = (
        change
        for change in changes
        if not change.path.startswith(_ORDER) and not (change.after is None and change.before in archived)
    )
    return "memory" if any(rest) else "maintenance"


def text_of(data: bytes | None) -> str:
    """A file's text; empty for a binary one, by git's rule."""
    data = data or b""
    return "" if b"\0" in data[:8000] else data.decode("utf-8", "replace")


def _lines(data: bytes | None) -> Iterator[str]:
    return (line for line in text_of(data).splitlines() if line.strip())
