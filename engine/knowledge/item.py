"""A piece of knowledge from a conversation, before it is written (``knowledge-curation.md`` 1, 5.1), and the
edits to the knowledge files, planned first and applied later (design 6.2).

An edit fully specifies its result, so applying it again changes nothing: a harvest journals its edits before
applying the first, and after a crash the next run applies all of them.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Category = Literal[
    "facts", "decisions", "tasks_done", "tasks_open", "questions", "playbooks", "files",
    "notes", "pages", "changes",
]  # fmt: skip
CATEGORIES: tuple[Category, ...] = tuple(
    name for name in get_args(Category) if name not in ("notes", "pages", "changes")
)
"""The categories of a harvest, in the order of the schema and of the ledger's counts. ``notes`` come from a
flush, ``pages`` from an extraction, ``changes`` from upkeep."""

NAMES: Mapping[str, tuple[str, str]] = {
    "facts": ("fact", "facts"),
    "decisions": ("decision", "decisions"),
    "tasks_done": ("task done", "tasks done"),
    "tasks_open": ("open task", "open tasks"),
    "questions": ("question", "questions"),
    "playbooks": ("playbook", "playbooks"),
    "files": ("file note", "file notes"),
}
"""Singular and plural of each category."""

Voice = Literal["person", "agent", "tool", ""]
"""Who said something; empty if unknown."""

ITEM_CHARACTERS = 600
"""Maximum length of an item's line without its provenance; a longer one is held for review."""


def counted(items: Mapping[str, int]) -> list[str]:
    """The non-empty categories with their counts: ``1 fact``, ``2 open tasks``."""
    counts = ((name, items.get(name, 0)) for name in CATEGORIES)
    return [f"{count:,} {NAMES[name][count != 1]}" for name, count in counts if count]


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of knowledge."""

    category: Category
    text: str
    """One plain line without bullet and provenance: a statement with details, the note of a file, or
    ``**name**: steps`` of a playbook."""
    path: str = ""
    """Of ``files``: the path as written in the conversation; of ``notes`` and ``pages``: the target file; of
    ``changes``: the first file changed; otherwise empty."""
    voice: Voice = ""
    why: str = ""  # why it needs a review whatever its text, one clause; empty if the text decides
    times: int = 1  # number of occurrences in the conversation
    section: str = ""  # of ``pages``: the heading it belongs under
    subject: str = ""  # of ``pages``: the title of the page


@dataclass(frozen=True, slots=True)
class Origin:
    """Where knowledge comes from."""

    name: str  # the conversation's file name without its suffix, safe inside a provenance
    day: str  # ISO 8601: of the harvest; of notes, of the turns; of pages, of the session
    turns: tuple[int, int] | None = None  # first and last turn; ``None`` for the whole conversation
    session: str = ""  # its id, for pages that list their sessions

    @property
    def provenance(self) -> str:
        """The suffix of an item: ``[from: 2026-06-12-investigate-cache, 2026-06-12]``."""
        return f"[from: {self.name}, {self.day}]"


def item_id(item: Item, name: str) -> str:
    """The id of an item in a conversation: the same in every harvest."""
    text = "\n".join((item.category, item.path, normalised(item.text), name))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def normalised(text: str) -> str:
    """A text normalised for comparison: compatibility forms and case folded, single blanks, no final full
    stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(".")


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
