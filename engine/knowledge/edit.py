"""Changes to the files of knowledge, decided once and applied as often as it takes (design 6.2).

An edit says in full what shall stand where, so that applying it again changes nothing: a harvest journals its
edits before the first of them is applied, and whoever finds the journal after a crash applies all of them.
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
    """One line of knowledge and where it shall stand.

    Attributes:
        id: ``item_id`` of the item that it stands for.
        category: The item's category; a note of a file that is gone keeps ``files`` and stands in facts.md.
        kind: What is done.
        path: The file, workspace-relative.
        section: The heading below which it stands, without ``#``; empty for a file without sections.
        line: The whole line without its line end: bullet, text, provenance.
        title: What the file begins with where it does not exist yet; empty for one that is not made.
    """

    id: str
    category: Category
    kind: EditKind
    path: str
    section: str
    line: str
    title: str


@dataclass(frozen=True, slots=True)
class Known:
    """An item that is not written, because something that says the same stands there already.

    Attributes:
        item: The item.
        path: Where it stands, workspace-relative.
        number: On which line, from 1.
        line: That line.
        likeness: 1 for the same words, else how alike they are, 0 to 1.
    """

    item: Item
    path: str
    number: int
    line: str
    likeness: float


@dataclass(frozen=True, slots=True)
class Held:
    """An item that waits for a person.

    Attributes:
        id: ``item_id`` of the item.
        item: The item.
        why: Why it may not be written by itself, one clause.
        read: What the agent had read from outside, where that is why.
    """

    id: str
    item: Item
    why: str
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of the items of one conversation.

    Attributes:
        edits: What is written, in order.
        known: What stands there already.
        held: What waits for a person.
    """

    edits: tuple[Edit, ...] = ()
    known: tuple[Known, ...] = ()
    held: tuple[Held, ...] = ()
