"""A workspace's knowledge by group, and panel 1 of the knowledge screen."""

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
"""The category file behind a group, or behind part of one."""
EMPTY: dict[Group, str] = {
    "notes": "No file notes yet. A harvest adds them, or run: autopoiesis notes PATH --add TEXT",
    "entries": "No entries yet. An entry is a folder under knowledge/ with a KNOWLEDGE.md.",
    "skills": "No skills yet. A skill is a folder under .library/custom/ with a SKILL.md.",
    "digest": "No digest yet: the category files are empty.",
}


@dataclass(frozen=True, slots=True)
class CategoryRead:
    entries: tuple[Entry, ...] = ()
    problem: str = ""
    """Why the file could not be read."""


@dataclass(frozen=True)
class KnowledgeRead:
    """A workspace's knowledge as it was read."""

    categories: Mapping[str, CategoryRead]
    """By path."""
    notes: tuple[FileNotes, ...]
    scan: EntryScan | None
    """The entries and skills; ``None`` if they cannot be listed."""
    digest: DigestView
    problems: Mapping[Group, str] = field(default_factory=dict)
    """Errors by group."""

    def problem(self, group: Group) -> str:
        file = FILES.get(group)
        if file is not None:
            return self.categories[file.path].problem
        if group == "digest":
            return self.digest.problem
        return self.problems.get(group, "")


@dataclass(frozen=True, slots=True)
class GroupItem:
    group: Group
    count: str
    """Number of items; for the digest, its size or ``off``."""
    mark: str = ""
    """A sign for what needs attention; empty if nothing does."""


def pieces_of(read: KnowledgeRead, unclear: Sequence[Rebinding], group: Group) -> list[Piece]:
    """The items of a group, newest first."""
    file = FILES.get(group)
    if file is not None:
        found: list[Piece] = [*line_pieces(read.categories[file.path].entries, read.digest, file)]
        if file is TASKS:
            wanted = group == "done"
            found = [each for each in found if isinstance(each, LinePiece) and each.is_done == wanted]
        return found
    match group:
        case "notes":
            return [*note_pieces(read.notes, unclear)]
        case "entries" | "skills":
            kind: EntryKind = "knowledge" if group == "entries" else "skill"
            return [*entry_pieces(read.scan, kind)] if read.scan is not None else []
        case _:
            known = {path: each.entries for path, each in read.categories.items()}
            return [*digest_pieces(known, read.digest)]


def group_items(read: KnowledgeRead, unclear: Sequence[Rebinding]) -> list[GroupItem]:
    return [_item(read, unclear, group) for group in TITLES]


def _item(read: KnowledgeRead, unclear: Sequence[Rebinding], group: Group) -> GroupItem:
    if read.problem(group):
        return GroupItem(group, BROKEN, BROKEN)
    if group == "digest":
        state, over = digest_state(read.digest)
        return GroupItem(group, state.partition(" · ")[0] or "off", BROKEN if over else "")
    pieces = pieces_of(read, unclear, group)
    mark = ""
    if group == "notes" and unclear:
        mark = f"{len(unclear):,}{UNCLEAR}"
    elif any(isinstance(each, EntryPiece) and each.entry.problems for each in pieces):
        mark = BROKEN
    return GroupItem(group, f"{len(pieces):,}", mark)


def path_of(group: Group, piece: Piece | None) -> tuple[str, int]:
    """The file and line behind a selection, or the group's file if nothing is selected."""
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
    """The group of a category file; for tasks, the open ones."""
    return next(group for group, each in FILES.items() if each is file)


def empty_note(group: Group) -> str:
    file = FILES.get(group)
    if file is None:
        return EMPTY[group]
    return f"Nothing yet. A harvest adds to {file.path}; you can edit it yourself as well."


class GroupsPanel(KeyedRows[GroupItem]):
    name_of = "groups"
    number = "1"
    words = "knowledge"
    always_lit = True
    signs = (
        (UNCLEAR, "notes whose file was moved or deleted"),
        (BROKEN, "has a problem, or cannot be read"),
    )

    def key(self, item: GroupItem) -> Group:
        return item.group

    def row(self, item: GroupItem, width: int, chosen: bool) -> Row:
        roles = self.roles
        row = Row((TITLES[item.group], roles.strong if chosen else roles.normal))
        off = item.group == "digest" and item.count == "off"
        beside = Row()
        if item.mark and item.mark != item.count:
            beside.add(item.mark, roles.error if item.mark == BROKEN else roles.gate).gap()
        beside.add(item.count, roles.error if item.count == BROKEN else roles.gate if off else roles.muted)
        return row.right(beside, width).cut(width)

    def empty(self, width: int) -> list[Row]:
        return [Row(("…", self.roles.faint))]

    def selected_text(self) -> str:
        item = self.selected
        return f"{item.group} {item.count}" if item is not None else ""
