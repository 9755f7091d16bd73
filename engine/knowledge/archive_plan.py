"""What would move when knowledge entries are archived, and what cannot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.errors import EntryError
from engine.knowledge.entries import Entry, EntryScan, plain
from engine.knowledge.links import Link, Links
from engine.store.entry_files import KNOWLEDGE
from engine.store.paths import shown

TOP = KNOWLEDGE.folders[0]
COLD = KNOWLEDGE.cold

_SHARED = frozenset(
    {
        "archive",
        "files",
        "identity",
        "journal",
        "memory",
        "people",
        "procedures",
        "projects",
        "prompts",
        "reference",
    }
)
"""Folders of ``knowledge/`` that never belong to an entry, whatever they hold."""


@dataclass(frozen=True, slots=True)
class EntryMove:
    """One entry with everything in its folder, and where it goes."""

    name: str
    source: str
    target: str
    entries: int  # itself and the entries nested in it
    files: int
    size: int  # bytes
    incoming: tuple[Link, ...] = ()  # references to it that will lead nowhere
    outgoing: tuple[Link, ...] = ()  # relative references in it that lead nowhere while it is archived


def named(scan: EntryScan, name: str) -> list[Entry]:
    """The knowledge entries that a name may mean."""
    place = name.strip().rstrip("/")
    return [
        entry
        for entry in scan.entries
        if entry.kind == "knowledge"
        and (
            place in (entry.location, entry.folder)
            or plain(place) in (plain(entry.name), plain(entry.folder.split("/")[-1]))
        )
    ]


def refuse_shared(scan: EntryScan, entry: Entry) -> None:
    """Checks that an entry can be moved whole and is nothing but an entry.

    Raises:
        EntryError: It cannot be moved, or its folder holds more.
    """
    where = shown(entry.location)
    if entry.kind != "knowledge":
        raise EntryError("is a skill; only knowledge is archived", where=where)
    above, _, name = entry.folder.rpartition("/")
    if entry.folder == TOP or (above == TOP and name in _SHARED) or above == f"{TOP}/projects":
        raise EntryError(
            f"lies in {shown(entry.folder)}/, which holds more than this entry",
            where=where,
            cure="give it a folder of its own",
        )
    below = f"{entry.folder}/"
    for path in sorted(scan.inventory.symlinks | scan.inventory.odd):
        if path.startswith(below):
            raise EntryError(
                "is a symlink or no regular file, so the folder cannot be kept as it is",
                where=shown(path),
                cure="put a regular file there, or take it out of the folder",
            )


def move_of(scan: EntryScan, links: Links, entry: Entry, moving: Sequence[str]) -> EntryMove:
    """An entry and where it goes, with the folders that move with it."""
    within = scan.within(entry)
    below = tuple(f"{folder}/" for folder in moving)
    incoming = tuple(link for link in links.to(entry.folder) if not link.source.startswith(below))
    outgoing = tuple(
        link
        for link in links.of(entry.folder)
        if not f"{link.target}/".startswith(f"{entry.folder}/") and link.reference.target.startswith("../")
    )
    return EntryMove(
        entry.name,
        entry.folder,
        f"{COLD}/{entry.folder.removeprefix(f'{TOP}/')}",
        len(within),
        sum(each.files for each in within),
        sum(each.size for each in within),
        incoming,
        outgoing,
    )


def is_below(folder: str, others: Iterable[str]) -> bool:
    """Whether a folder lies in one of others."""
    return any(folder.startswith(f"{other}/") for other in others)
