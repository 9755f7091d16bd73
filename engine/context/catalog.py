"""The catalogs of knowledge entries and skills (``knowledge-entries.md``): name, description and path.

The body of an entry stays on disk until it is read; the prompt only says that it exists. Entries nested below
another one are left to that entry, their index.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.context.budget import Candidate
from engine.context.delimiters import OF_OTHERS, one_line, outside
from engine.context.sources import Reader
from engine.store.entry_files import (
    KNOWLEDGE,
    NO_DESCRIPTION,
    SKILLS,
    Shelf,
    entry_description,
    entry_name,
    entry_places,
)
from engine.store.paths import is_shared, shown

CATALOG_KIB = 2.0
"""Cap of each catalog: a prompt that lists hundreds of entries explains none of them."""

_NAME_CHARACTERS = 80
_DESCRIPTION_CHARACTERS = 240


def catalogs(reader: Reader, *, can_read: bool = True) -> Iterator[list[Candidate]]:
    """The catalogs of private knowledge entries and of skills, layer 7; either may be empty.

    ``can_read``: whether the model can read files.
    """
    how = "read the file named when one applies"
    if not can_read:
        how = "their files cannot be read from here, so name the one that applies"
    yield _catalog(reader, KNOWLEDGE, "catalog:knowledge", f"Knowledge entries; {how}:", 0)
    yield _catalog(reader, SKILLS, "catalog:skills", f"Skills, reusable procedures; {how}:", 1)


def catalog_line(name: str, description: str, place: str) -> str:
    """The line of one entry; ``place`` is its path, possibly followed by a note."""
    entry = f"{one_line(name, _NAME_CHARACTERS)}: {one_line(description, _DESCRIPTION_CHARACTERS)}"
    place = f"{place}; {OF_OTHERS}" if is_shared(place) else place
    # A comment in a list line might be mistaken for the marker of a section.
    return f"- {outside(entry)} ({outside(place)})".replace("<!--", "<\\!--")


def _catalog(reader: Reader, shelf: Shelf, label: str, intro: str, place: int) -> list[Candidate]:
    lines: list[str] = []
    for path, parent in entry_places(shelf, reader.list):
        loaded = None if parent else reader.load(path)
        if loaded is None:
            continue
        description = entry_description(loaded.header)
        if not description:
            reader.problems.append(f"{shown(path)}: has no description; add one to its header")
        name = entry_name(loaded.header, path)
        lines.append(catalog_line(name, description or NO_DESCRIPTION, shown(path)))
    if not lines:
        return []
    noun = "entry" if len(lines) == 1 else "entries"
    return [
        Candidate(
            label=label,
            layer=7,
            priority=1,
            slot="knowledge",
            text="\n".join((intro, *lines)),
            why=f"{len(lines)} {noun}: name, description and location of each",
            order=(place,),
        )
    ]
