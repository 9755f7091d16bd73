"""Changes to the knowledge files, decided once and applied as often as it takes (design 6.2).

An edit says in full what shall stand where, so that applying it again changes nothing: a harvest journals its
edits before the first of them is applied, and the run that finds it after a crash applies all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.knowledge.item import Category, Item

EditKind = Literal["append", "done", "note"]
"""``append``: the line is added to a section of a file. ``done``: an open task's line is moved to the done
ones as it is. ``note``: the line is added to the notes of a file."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One line of knowledge and where it goes."""

    id: str  # ``item_id`` of the item
    category: Category
    """The item's category; a note on a file that is gone keeps ``files`` and stands in facts.md."""
    kind: EditKind
    path: str  # workspace-relative
    section: str  # the heading above it, without ``#``; empty for a file without sections
    line: str  # the whole line without its line end: bullet, text, provenance
    title: str  # what the file begins with if it does not exist yet; empty if it is not to be created
    day: str = ""  # of a page: what its header calls the last change
    session: str = ""  # of a page: what its header lists


@dataclass(frozen=True, slots=True)
class Known:
    """An item that is not written, because something that says the same stands there already."""

    item: Item
    path: str  # where it stands, workspace-relative
    number: int  # its line, from 1
    line: str
    likeness: float  # its similarity, 0 to 1, under the name that ``--json`` has for it; 1 for the same words


@dataclass(frozen=True, slots=True)
class Held:
    """An item that waits for a person."""

    id: str  # ``item_id`` of the item
    item: Item
    why: str  # why it may not be written unreviewed, one clause
    read: tuple[str, ...] = ()  # what the agent had read from outside, if that is the reason


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the items of one conversation."""

    edits: tuple[Edit, ...] = ()  # in the order of writing
    known: tuple[Known, ...] = ()  # already there
    held: tuple[Held, ...] = ()  # for a person to decide
