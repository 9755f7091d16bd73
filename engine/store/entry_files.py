"""Locates knowledge entries and skills and reads their catalog fields (``knowledge-entries.md``).

Both are folders with a marker file, and an entry may be an index of entries nested below it. The prompt's
catalog and the entry lists share this code, so that they always agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from engine.startup.records import dataclass

EntryKind = Literal["knowledge", "skill"]

NO_DESCRIPTION = "(no description)"


@dataclass(frozen=True, slots=True)
class Shelf:
    """The folders that contain entries of one kind."""

    kind: EntryKind
    """``knowledge``, private to one agent, or ``skill``, a procedure that travels."""
    marker: str
    """The name of the file that makes a folder an entry."""
    folders: tuple[str, ...]
    """The folders, in catalog order."""
    cold: str = ""
    """The folder of archived entries, which are in no catalog. Empty for none."""


KNOWLEDGE = Shelf("knowledge", "KNOWLEDGE.md", ("knowledge",), "knowledge/archive")
SKILLS = Shelf("skill", "SKILL.md", (".library/intrinsic", ".library/custom"))
SHELVES = (KNOWLEDGE, SKILLS)


class EntryPlace(NamedTuple):
    """One entry's marker file."""

    path: str
    """Workspace-relative path of the file."""
    parent: str
    """Path of the parent entry's marker file; empty for a top-level entry."""


def entry_places(shelf: Shelf, listed: Callable[[str], Sequence[str]]) -> list[EntryPlace]:
    """The entries of a shelf in catalog order, without archived ones.

    Args:
        listed: Lists the files below a folder recursively, sorted, without hidden ones.
    """
    paths = [
        path
        for folder in shelf.folders
        for path in listed(folder)
        if path.endswith(f"/{shelf.marker}") and not (shelf.cold and path.startswith(f"{shelf.cold}/"))
    ]
    folders = {folder_of(path) for path in paths}
    return [EntryPlace(path, _parent(path, folders, shelf.marker)) for path in paths]


def folder_of(path: str) -> str:
    """The entry folder of a marker file."""
    return path.rpartition("/")[0]


def entry_name(header: Mapping[str, object], path: str) -> str:
    """The entry's ``name``; its folder's name if it has none."""
    name = header.get("name")
    return name if isinstance(name, str) and name.strip() else path.split("/")[-2]


def entry_description(header: Mapping[str, object]) -> str:
    """The entry's description; empty if it has none."""
    description = header.get("description")
    return description if isinstance(description, str) and description.strip() else ""


def _parent(path: str, folders: set[str], marker: str) -> str:
    above = folder_of(folder_of(path))
    while above:
        if above in folders:
            return f"{above}/{marker}"
        above = folder_of(above)
    return ""
