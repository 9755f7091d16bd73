"""A piece of knowledge from a conversation, before it stands anywhere (``knowledge-curation.md`` 1, 5.1)."""

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
"""What a harvest takes out, in the order of the schema and of the ledger's counts; notes are a flush's,
lines of pages an extraction's, changes of files an upkeep's."""

NAMES: Mapping[str, tuple[str, str]] = {
    "facts": ("fact", "facts"),
    "decisions": ("decision", "decisions"),
    "tasks_done": ("task done", "tasks done"),
    "tasks_open": ("open task", "open tasks"),
    "questions": ("question", "questions"),
    "playbooks": ("playbook", "playbooks"),
    "files": ("note of a file", "notes of files"),
}
"""What one item of a category is called, and several."""

Voice = Literal["person", "agent", "tool", ""]
"""Who said it; empty if unknown."""

ITEM_CHARACTERS = 600
"""Characters of an item's line without its provenance; a longer one waits for a person."""


def counted(items: Mapping[str, int]) -> list[str]:
    """``1 fact``, ``2 open tasks``: how many items there are of each category that has any."""
    counts = ((name, items.get(name, 0)) for name in CATEGORIES)
    return [f"{count:,} {NAMES[name][count != 1]}" for name, count in counts if count]


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of knowledge."""

    category: Category
    text: str
    """One plain line without bullet and provenance: a statement and its detail; of a playbook ``**name**:
    steps``; of a file the note."""
    path: str = ""
    """Of ``files`` the path as the conversation names it; of ``notes`` and ``pages`` the file that they
    go to; of ``changes`` the one that is changed first; otherwise empty."""
    voice: Voice = ""
    why: str = ""  # why a person has to look at it whatever it says, one clause; empty if its text decides
    times: int = 1  # how often the conversation shows it
    section: str = ""  # of ``pages`` the heading below which it stands; otherwise empty
    subject: str = ""  # of ``pages`` what the page is about, as its title says it; otherwise empty


@dataclass(frozen=True, slots=True)
class Origin:
    """Where knowledge comes from."""

    name: str  # the conversation's file name without its suffix, safe inside a provenance
    day: str  # day of the harvest, ISO 8601; of notes that of the turns, of pages that of the session
    turns: tuple[int, int] | None = None  # first and last turn meant; ``None`` for the whole conversation
    session: str = ""  # its id, where a page lists the sessions that it comes from

    @property
    def provenance(self) -> str:
        """As it stands behind an item: ``[from: 2026-06-12-investigate-cache, 2026-06-12]``."""
        return f"[from: {self.name}, {self.day}]"


def item_id(item: Item, name: str) -> str:
    """Identifies what one conversation says: equal whenever and however often it is harvested."""
    said = "\n".join((item.category, item.path, normalised(item.text), name))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:12]


def normalised(text: str) -> str:
    """A text as it is compared: forms and case folded, blanks single, no full stop at its end."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(".")
