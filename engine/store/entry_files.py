"""Where knowledge entries and skills are, and what a catalog says of them (``knowledge-entries.md``).

Both are folders with a marker file, and one may be an index over others nested below it. The prompt's catalog
and the list that people and agents ask for read them here, so that they never name different entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from engine.startup.records import dataclass

EntryKind = Literal["knowledge", "skill"]

NO_DESCRIPTION = "(no description)"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where entries of one kind are kept."""

    kind: EntryKind
    """``knowledge``, private to one agent, or ``skill``, a procedure that travels."""
    marker: str
    """The name of the file that makes a folder an entry."""
    folders: tuple[str, ...]
    """Where they are, in the order of the catalog."""
    cold: str = ""
    """The folder whose entries are archived: kept, and in no catalog. Empty for none."""


KNOWLEDGE = Shelf("knowledge", "KNOWLEDGE.md", ("knowledge",), "knowledge/archive")
SKILLS = Shelf("skill", "SKILL.md", (".library/intrinsic", ".library/custom"))
SHELVES = (KNOWLEDGE, SKILLS)


class EntryPlace(NamedTuple):
    """One entry's marker file."""

    path: str
    """Workspace-relative path of the file."""
    parent: str
    """Path of the marker file of the entry it is nested in; empty for an outermost one."""


def entry_places(shelf: Shelf, listed: Callable[[str], Sequence[str]]) -> list[EntryPlace]:
    """The entries of a shelf, in the order of the catalog; archived ones are left out.

    Args:
        listed: Gives the files below a folder at any depth, sorted, without hidden ones.
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
    """The folder of a marker file, which is the entry."""
    return path.rpartition("/")[0]


def entry_name(header: Mapping[str, object], path: str) -> str:
    """The name that an entry gives itself; that of its folder where it gives none."""
    name = header.get("name")
    return name if isinstance(name, str) and name.strip() else path.split("/")[-2]


def entry_description(header: Mapping[str, object]) -> str:
    """What an entry says that it holds; empty where it says nothing."""
    description = header.get("description")
    return description if isinstance(description, str) and description.strip() else ""


def _parent(path: str, folders: set[str], marker: str) -> str:
    above = folder_of(folder_of(path))
    while above:
        if above in folders:
            return f"{above}/{marker}"
        above = folder_of(above)
    return ""
