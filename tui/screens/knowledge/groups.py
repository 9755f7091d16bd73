"""What a workspace knows, sorted into groups, and panel 1 of the knowledge screen: a line for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from engine.context.views import DIGEST_PATH
from engine.knowledge.category_files import (
    DECISIONS,
    FACTS,
    PLAYBOOKS,
    QUESTIONS,
    TASKS,
    CategoryFile,
)
from tui.kit.keyed_rows import KeyedRows
from tui.render.digest import digest_state
from tui.render.draw import Row
from tui.screens.knowledge.pieces import (
    BROKEN,
    UNCLEAR,
    DigestPiece,
    EntryPiece,
    LinePiece,
    NotesPiece,
    Piece,
    digest_pieces,
    entry_pieces,
    line_pieces,
    note_pieces,
)

if TYPE_CHECKING:
    from engine.context.views import DigestView
    from engine.knowledge.category_files import Entry
    from engine.knowledge.entries import EntryScan
    from engine.knowledge.notes import FileNotes, Rebinding
    from engine.store.entry_files import EntryKind

Group = Literal["facts", "decisions", "questions", "playbooks", "open", "done", "notes", "entries", "skills",
                "digest"]  # fmt: skip
TITLES: dict[Group, str] = {
    "facts": "Facts",
    "decisions": "Decisions",
    "questions": "Questions",
    "playbooks": "Playbooks",
    "open": "Tasks, open",
    "done": "Tasks, done",
    "notes": "Notes of files",
    "entries": "Entries",
    "skills": "Skills",
    "digest": "Digest",
}
FILES: dict[Group, CategoryFile] = {
    "facts": FACTS,
    "decisions": DECISIONS,
    "questions": QUESTIONS,
    "playbooks": PLAYBOOKS,
    "open": TASKS,
    "done": TASKS,
}
"""The file of each group that is one, or a part of one."""
NOTHING: dict[Group, str] = {
    "notes": "No file has notes yet. autopoiesis notes PATH --add TEXT writes one, and so does a harvest.",
    "entries": "There are no entries yet. One is a folder with a KNOWLEDGE.md below knowledge/.",
    "skills": "There are no skills yet. One is a folder with a SKILL.md below .library/custom/.",
    "digest": "The category files say nothing yet, so there is nothing for a digest.",
}


@dataclass(frozen=True, slots=True)
class CategoryRead:
    """A category file as it was read."""

    entries: tuple[Entry, ...] = ()
    problem: str = ""
    """Why it could not be read."""


@dataclass(frozen=True)
class Held:
    """All that is known, as it was read."""

    categories: Mapping[str, CategoryRead]
    """By path."""
    notes: tuple[FileNotes, ...]
    scan: EntryScan | None
    """The entries and skills; ``None`` where they cannot be listed."""
    digest: DigestView
    problems: Mapping[Group, str] = field(default_factory=dict)
    """Why a group could not be read."""

    def problem(self, group: Group) -> str:
        """Why a group cannot be shown; empty where it can."""
        file = FILES.get(group)
        if file is not None:
            return self.categories[file.path].problem
        if group == "digest":
            return self.digest.problem
        return self.problems.get(group, "")


@dataclass(frozen=True, slots=True)
class GroupItem:
    """A group as the list shows it."""

    group: Group
    count: str
    """How much is in it; of the digest its size, or that it is off."""
    mark: str = ""
    """The sign of what needs attention; empty where nothing does."""


def pieces_of(held: Held, unclear: Sequence[Rebinding], group: Group) -> list[Piece]:
    """What is in a group, newest first."""
    file = FILES.get(group)
    if file is not None:
        found: list[Piece] = [*line_pieces(held.categories[file.path].entries, held.digest, file)]
        if file is TASKS:
            wanted = group == "done"
            found = [each for each in found if isinstance(each, LinePiece) and each.is_done == wanted]
        return found
    match group:
        case "notes":
            return [*note_pieces(held.notes, unclear)]
        case "entries" | "skills":
            kind: EntryKind = "knowledge" if group == "entries" else "skill"
            return [*entry_pieces(held.scan, kind)] if held.scan is not None else []
        case _:
            known = {path: read.entries for path, read in held.categories.items()}
            return [*digest_pieces(known, held.digest)]


def group_items(held: Held, unclear: Sequence[Rebinding]) -> list[GroupItem]:
    """Every group with its count, in order."""
    return [_item(held, unclear, group) for group in TITLES]


def _item(held: Held, unclear: Sequence[Rebinding], group: Group) -> GroupItem:
    if held.problem(group):
        return GroupItem(group, BROKEN, BROKEN)
    if group == "digest":
        state, over = digest_state(held.digest)
        return GroupItem(group, state.partition(" KB")[0] or "off", BROKEN if over else "")
    pieces = pieces_of(held, unclear, group)
    mark = ""
    if group == "notes" and unclear:
        mark = f"{len(unclear):,}{UNCLEAR}"
    elif any(isinstance(each, EntryPiece) and each.entry.problems for each in pieces):
        mark = BROKEN
    return GroupItem(group, f"{len(pieces):,}", mark)


def path_of(group: Group, piece: Piece | None) -> tuple[str, int]:
    """The file and the line that a selection stands for; without a selection the group's file."""
    match piece:
        case LinePiece(entry=entry):
            return entry.path, entry.number
        case NotesPiece(notes=notes):
            return notes.notes, notes.entries[-1].number if notes.entries else 0
        case EntryPiece(entry=entry):
            return entry.location, 0
        case DigestPiece():
            return DIGEST_PATH, 0
    file = FILES.get(group)
    return (file.path, 0) if file is not None else (DIGEST_PATH if group == "digest" else "", 0)


def group_of(file: CategoryFile) -> Group:
    """The group that a category file is, of tasks the open ones."""
    return next(group for group, each in FILES.items() if each is file)


def nothing(group: Group) -> str:
    """What stands in a group without anything."""
    file = FILES.get(group)
    if file is None:
        return NOTHING[group]
    return f"Nothing yet. A harvest appends to {file.path}, and you may write there yourself."


class GroupsPanel(KeyedRows[GroupItem]):
    """A line for each group."""

    name_of = "groups"
    number = "1"
    words = "knowledge"
    always_lit = True
    signs = (
        (UNCLEAR, "notes whose file is gone, or may be another"),
        (BROKEN, "something is wrong there, or it cannot be read"),
    )

    def key(self, item: GroupItem) -> Group:
        return item.group

    def row(self, item: GroupItem, width: int, chosen: bool) -> Row:
        """Title, what needs attention, count."""
        roles = self.roles
        row = Row((TITLES[item.group], roles.strong if chosen else roles.normal))
        off = item.group == "digest" and item.count == "off"
        beside = Row()
        if item.mark and item.mark != item.count:
            beside.add(item.mark, roles.error if item.mark == BROKEN else roles.gate).gap()
        beside.add(item.count, roles.error if item.count == BROKEN else roles.gate if off else roles.muted)
        return row.right(beside, width).cut(width)

    def empty(self, width: int) -> list[Row]:
        """That they are being read."""
        return [Row(("…", self.roles.faint))]

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.group} {item.count}" if item is not None else ""
