"""Which files may be archived, and their paths in and outside the archive (spec 8.6)."""

from __future__ import annotations

import re
from datetime import date
from pathlib import PurePosixPath

from engine.context.fixed import IDENTITY, JOURNAL, PROJECTS
from engine.context.sources import MEMORY
from engine.store.paths import is_shared

ARCHIVE = "archive"
EVICTABLE = tuple(f"knowledge/{name}/" for name in ("projects", "people", "procedures", "reference"))
"""Folders whose unused files are archived; journals are archived by age."""

_ELSEWHERE = ("topics/",)
"""Folders outside ``knowledge/`` that keep their name in the archive."""
_CLASHING = ("knowledge/topics/", "knowledge/raw/", "knowledge/conversations/", "knowledge/knowledge/")
_INDEXES = ("_active.md", "_index.md")
_GENERATED = ("knowledge/files/", "knowledge/prompts/", "knowledge/archive/")


def archived(path: str) -> str:
    """The path of a file in the archive."""
    return f"{ARCHIVE}/{path.removeprefix('knowledge/')}"


def restored(path: str) -> str:
    """The original path of an archived file."""
    inside = path.removeprefix(f"{ARCHIVE}/")
    return inside if inside.startswith(_ELSEWHERE) else f"knowledge/{inside}"


def why_kept(path: str) -> str:
    """Why a file can never be archived; empty if it can."""
    name = path.rpartition("/")[2]
    if not path.endswith(".md") or not path.startswith(("knowledge/", *_ELSEWHERE)):
        return "only Markdown files in knowledge/ and topics/ can be archived"
    if path.startswith(f"{IDENTITY}/") or path == MEMORY:
        return "it is part of every prompt"
    if path.count("/") == 1 and path.startswith("knowledge/"):
        return "it is a category file or a generated file"
    if name in _INDEXES or path == PROJECTS:
        return "it is an index"
    if is_shared(path):
        return "it is shared knowledge; to remove it: autopoiesis share remove"
    if path.startswith((*_GENERATED, *_CLASHING)):
        return "files in its folder are never moved"
    return ""


def journal_day(path: str) -> date | None:
    """The day of a journal; ``None`` if the file is not a journal."""
    if PurePosixPath(path).parent.as_posix() != JOURNAL:
        return None
    try:
        return date.fromisoformat(re.sub(r"\.md$", "", PurePosixPath(path).name))
    except ValueError:
        return None
