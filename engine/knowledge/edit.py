"""Edits to the knowledge files, planned first and applied later (design 6.2).

An edit fully specifies its result, so applying it again changes nothing: a harvest journals its edits before
applying the first, and after a crash the next run applies all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.knowledge.item import Category, Item

EditKind = Literal["append", "done", "note"]
"""``append``: add the line to a section of a file. ``done``: move the line of an open task to the done ones.
``note``: add the line to the notes of a file."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A line of knowledge and its target."""

    id: str  # ``item_id`` of the item
    category: Category
    """The item's category; a note on a file that no longer exists keeps ``files`` but goes to facts.md."""
    kind: EditKind
    path: str  # workspace-relative
    section: str  # the heading above it, without ``#``; empty for a file without sections
    line: str  # the whole line without its line end: bullet, text, provenance
    title: str  # start of the file if it is new; empty if it may not be created
    day: str = ""  # of a page: the last change in its header
    session: str = ""  # of a page: the session to list in its header


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item that is not written because an equivalent entry exists."""

    item: Item
    path: str  # of the existing entry, workspace-relative
    number: int  # its line, from 1
    line: str
    likeness: float  # similarity, 0 to 1; 1 for equal words; named as in ``--json``


@dataclass(frozen=True, slots=True)
class HeldItem:
    """An item held for review."""

    id: str  # ``item_id`` of the item
    item: Item
    why: str  # why it needs a review, one clause
    read: tuple[str, ...] = ()  # outside sources the agent had read, if they are the reason


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with the items of one conversation."""

    edits: tuple[Edit, ...] = ()  # in the order of writing
    known: tuple[KnownItem, ...] = ()  # already in the files
    held: tuple[HeldItem, ...] = ()  # for review
