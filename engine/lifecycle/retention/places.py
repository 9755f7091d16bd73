"""What may go to the archive, where it stands there, and where it came from (spec 8.6)."""

from __future__ import annotations

import re
from datetime import date
from pathlib import PurePosixPath

from engine.context.fixed import IDENTITY, JOURNAL, PROJECTS
from engine.context.sources import MEMORY
from engine.store.paths import is_shared

ARCHIVE = "archive"
EVICTABLE = tuple(f"knowledge/{name}/" for name in ("projects", "people", "procedures", "reference"))
"""Folders from which files go that nobody uses; journals go by their day."""

_ELSEWHERE = ("topics/",)
"""Folders beside ``knowledge/`` that keep their name in the archive."""
_CLASHING = ("knowledge/topics/", "knowledge/raw/", "knowledge/conversations/", "knowledge/knowledge/")
_INDEXES = ("_active.md", "_index.md")
_MADE = ("knowledge/files/", "knowledge/prompts/", "knowledge/archive/")


def archived(path: str) -> str:
    """Where a file stands once it is archived."""
    return f"{ARCHIVE}/{path.removeprefix('knowledge/')}"


def restored(path: str) -> str:
    """Where an archived file stood."""
    inside = path.removeprefix(f"{ARCHIVE}/")
    return inside if inside.startswith(_ELSEWHERE) else f"knowledge/{inside}"


def why_kept(path: str) -> str:
    """Why a file is never archived, whoever asks; empty when it may be."""
    name = path.rpartition("/")[2]
    if not path.endswith(".md") or not path.startswith(("knowledge/", *_ELSEWHERE)):
        return "only Markdown files of knowledge/ and topics/ are archived"
    if path.startswith(f"{IDENTITY}/") or path == MEMORY:
        return "it stands in every prompt"
    if path.count("/") == 1 and path.startswith("knowledge/"):
        return "it is a category file or is made by the program"
    if name in _INDEXES or path == PROJECTS:
        return "it is an index of what is there"
    if is_shared(path):
        return "others share it; to take it out: autopoiesis share remove"
    if path.startswith((*_MADE, *_CLASHING)):
        return "it belongs to a folder whose files keep their place"
    return ""


def journal_day(path: str) -> date | None:
    """The day of a journal; ``None`` for a file that is none."""
    if PurePosixPath(path).parent.as_posix() != JOURNAL:
        return None
    try:
        return date.fromisoformat(re.sub(r"\.md$", "", PurePosixPath(path).name))
    except ValueError:
        return None
