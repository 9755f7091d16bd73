"""Scores files by last change and use, and selects those to archive (spec 8.5, design 3.9)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.context.fixed import IDENTITY, JOURNAL, PROJECTS
from engine.context.sources import MEMORY
from engine.errors import AutopoiesisError
from engine.knowledge.inventory import Inventory, hidden
from engine.knowledge.links import Links
from engine.store.entry_files import SHELVES
from engine.store.paths import is_shared

if TYPE_CHECKING:
    from engine.store.repository import Repository

DECAY = 0.05
"""Decay per day since the last change; a score halves in 14 days."""
MIN_SCORE = 0.01
"""Files below this score may be archived."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A file and its score."""

    path: str
    days: int  # since its last change
    references: int  # prompts it was useful in, and links to it; at least 1
    score: float  # e^(−.05 · days) · references


def scored(
    paths: Iterable[str],
    changes: Mapping[str, datetime],
    uses: Mapping[str, int],
    links: Links,
    now: datetime,
) -> list[Scored]:
    """The scores of files, lowest first, without files of unknown age.

    Args:
        changes: Time of the last change of each file.
        uses: Number of prompts each file was useful in.
    """
    found = []
    for path in paths:
        if path in changes:
            days = max(0, (now - changes[path]).days)
            references = max(1, uses.get(path, 0) + len(links.to(path)))
            found.append(Scored(path, days, references, math.exp(-DECAY * days) * references))
    return sorted(found, key=lambda each: (each.score, each.path))


def evictable(inventory: Inventory, links: Links) -> list[str]:
    """Files that may be archived by score: not part of a knowledge entry or an active project."""
    markers = {shelf.marker for shelf in SHELVES}
    inside = [path.rpartition("/")[0] for path in inventory.files if path.rpartition("/")[2] in markers]
    listed = {link.target.rpartition("/")[0] for link in links.of(PROJECTS)}
    kept = tuple(f"{folder}/" for folder in (*inside, *listed) if folder.count("/") > 1)
    return sorted(
        path
        for path in inventory.files
        if path.startswith(EVICTABLE)
        and not hidden(path)
        and not why_kept(path)
        and not path.startswith(kept)
    )


def unlinked(chosen: Iterable[str], links: Links, going: Iterable[str] = ()) -> list[str]:
    """The chosen files without those that a remaining file links to.

    Args:
        going: Files that are archived in any case.
    """
    left = dict.fromkeys(chosen)
    always = frozenset(going)
    while True:
        held = [
            path
            for path in left
            if any(link.source not in left and link.source not in always for link in links.to(path))
        ]
        if not held:
            return list(left)
        for path in held:
            del left[path]


def last_changes(repository: Repository, inventory: Inventory) -> dict[str, datetime]:
    """Time of the last change of each file in ``knowledge/``, from git or otherwise from the file system."""
    found: dict[str, datetime] = {}
    try:
        if repository.has_commits:
            options = ("--format=%x01%ct", "--name-only", "--no-renames", "-z")
            at = datetime.fromtimestamp(0, UTC)
            for token in repository.git.run("log", *options, paths=["knowledge"]).text.split("\0"):
                for part in filter(None, token.split("\n")):
                    if part.startswith("\x01"):
                        at = datetime.fromtimestamp(int(part[1:]), UTC)
                    else:
                        found.setdefault(part, at)
            for path in repository.changed("knowledge"):
                found.pop(path, None)
    except (AutopoiesisError, OSError, ValueError):
        found = {}
    return {
        path: found.get(path) or datetime.fromtimestamp(changed / 1e9, UTC)
        for path, changed in inventory.changed.items()
    }


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
