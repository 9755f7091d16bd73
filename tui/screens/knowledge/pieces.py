"""A workspace's knowledge by group: the items of each, and panels 1 and 2 of the knowledge screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.style import Style

from engine.context.views import DIGEST_PATH
from engine.knowledge.category_files import (
    CATEGORY_FILES,
    DECISIONS,
    FACTS,
    PLAYBOOKS,
    QUESTIONS,
    TASKS,
    CategoryFile,
)
from engine.knowledge.category_files import DONE as DONE_SECTION
from engine.knowledge.similarity import superseded
from engine.store.paths import is_shared
from tui.kit.rows import KeyedRows, Note
from tui.render.digest import digest_state
from tui.render.draw import Row, clip, clip_start
from tui.render.figures import plural
from tui.render.roles import Roles
from tui.render.safe import first_line

if TYPE_CHECKING:
    from engine.context.views import DigestView
    from engine.knowledge.category_files import Entry as Line
    from engine.knowledge.entries import Entry, EntryScan
    from engine.knowledge.notes import FileNotes, Rebinding
    from engine.store.entry_files import EntryKind

Place = Literal["inside", "left out", ""]
INSIDE, LEFT_OUT, REPLACED, DONE, UNCLEAR, AWAY, BROKEN = "●", "○", "×", "✓", "?", "–", "!"
"""Signs in front of items."""
HEADINGS: dict[str, str] = {
    TASKS.path: "Open tasks",
    QUESTIONS.path: "Open questions",
    DECISIONS.path: "Decisions",
    FACTS.path: "Facts",
    PLAYBOOKS.path: "Playbooks",
}
"""The digest's sections in order, by the file each is built from."""
WIDE = 70
"""Minimum width for the conversation."""
_SOURCE = 24
_DAY = 10
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
EMPTY: dict[Group, str] = {
    "notes": "No file notes yet. A harvest adds them, or run: autopoiesis notes PATH --add TEXT",
    "entries": "No entries yet. An entry is a folder under knowledge/ with a KNOWLEDGE.md.",
    "skills": "No skills yet. A skill is a folder under .library/custom/ with a SKILL.md.",
    "digest": "No digest yet: the category files are empty.",
}


@dataclass(frozen=True, slots=True)
class LinePiece:
    """An entry of a category file."""

    entry: Line
    place: Place = ""
    """Whether the digest contains it; empty if it never would, or if the digest is off."""
    by: Line | None = None
    """The later decision that replaces it."""
    is_done: bool = False
    """It is a completed task."""


@dataclass(frozen=True, slots=True)
class NotesPiece:
    """The notes of a file, with the open question if it is unclear which file that is."""

    notes: FileNotes
    question: Rebinding | None = None


@dataclass(frozen=True, slots=True)
class EntryPiece:
    """A knowledge entry or skill."""

    entry: Entry
    depth: int = 0


@dataclass(frozen=True, slots=True)
class DigestPiece:
    """A section of the digest."""

    heading: str
    file: CategoryFile
    inside: int
    """Entries it contains."""
    of: int
    """Entries that qualify for it."""


Piece = LinePiece | NotesPiece | EntryPiece | DigestPiece


def line_pieces(lines: Sequence[Line], digest: DigestView, file: CategoryFile) -> Iterator[LinePiece]:
    """The entries of a category file, newest first."""
    replaced = superseded(lines) if file is DECISIONS else {}
    section = _section(digest, HEADINGS[file.path])
    for line in reversed(lines):
        is_done = file is TASKS and (line.section == DONE_SECTION or line.is_ticked)
        wanted = not is_done and (file is not TASKS or line.section in ("", file.sections[0]))
        place: Place = ""
        if digest.on and not digest.problem and wanted:
            place = "inside" if _block(line) in section else "left out"
        yield LinePiece(line, place, replaced.get(line), is_done)


def note_pieces(notes: Sequence[FileNotes], unclear: Sequence[Rebinding]) -> list[NotesPiece]:
    """The notes by path, unclear ones first."""
    asked = {question.notes: question for question in unclear}
    found = [NotesPiece(each, asked.get(each.notes)) for each in notes]
    return sorted(found, key=lambda each: (each.question is None, each.notes.path))


def entry_pieces(scan: EntryScan, kind: EntryKind) -> list[EntryPiece]:
    """The entries of a kind, each followed by those nested in it."""
    parents = {each.location: each.parent for each in scan.entries}

    def depth(location: str) -> int:
        above = parents.get(location, "")
        return 1 + depth(above) if above else 0

    ordered = sorted((each for each in scan.entries if each.kind == kind), key=lambda each: each.folder)
    return [EntryPiece(each, depth(each.location)) for each in ordered]


def digest_pieces(known: Mapping[str, Sequence[Line]], digest: DigestView) -> list[DigestPiece]:
    """The digest sections that have entries, or could have."""
    files = {file.path: file for file in CATEGORY_FILES}
    found: list[DigestPiece] = []
    for path, heading in HEADINGS.items():
        pieces = [each for each in line_pieces(known.get(path, ()), digest, files[path]) if not each.is_done]
        if pieces:
            inside = sum(each.place == "inside" for each in pieces)
            found.append(DigestPiece(heading, files[path], inside, len(pieces)))
    return found


def _section(digest: DigestView, heading: str) -> str:
    """The text of a digest section, starting and ending with a newline."""
    _before, at, rest = f"\n{digest.text}\n".partition(f"\n## {heading}\n")
    return f"\n{rest.partition(chr(10) + '## ')[0]}\n" if at else ""


def _block(line: Line) -> str:
    """An entry as the digest would contain it."""
    return "\n" + "".join(f"{each.rstrip()}\n" for each in line.lines)


def name_of(piece: Piece) -> str:
    """An item's text or name on one line."""
    match piece:
        case LinePiece(entry=line):
            return line.text
        case NotesPiece(notes=notes):
            return notes.path
        case EntryPiece(entry=entry):
            return f"{entry.name}: {entry.description}" if entry.description else entry.name
        case DigestPiece(heading=heading):
            return heading


def text_of(piece: Piece) -> str:
    """An item's text in full, or its name."""
    match piece:
        case LinePiece(entry=line):
            return "\n".join(line.lines)
        case NotesPiece(notes=notes):
            return "\n".join((notes.path, *(f"- {each.text}" for each in notes.entries)))
    return name_of(piece)


def key_of(piece: Piece) -> tuple[str, str]:
    """Identifies an item across changes elsewhere in its file."""
    match piece:
        case LinePiece(entry=line):
            return line.path, "\n".join(line.lines)
        case NotesPiece(notes=notes):
            return "notes", notes.notes
        case EntryPiece(entry=entry):
            return "entry", entry.location
        case DigestPiece(heading=heading):
            return "digest", heading


def sign_of(piece: Piece) -> str:
    match piece:
        case LinePiece():
            if piece.by is not None:
                return REPLACED
            if piece.is_done:
                return DONE
            return {"inside": INSIDE, "left out": LEFT_OUT, "": " "}[piece.place]
        case NotesPiece():
            return UNCLEAR if piece.question is not None else " " if piece.notes.is_here else AWAY
        case EntryPiece(entry=entry):
            return BROKEN if entry.problems else " "
        case DigestPiece():
            return INSIDE if piece.inside else LEFT_OUT


def _from(line: Line, width: int, roles: Roles) -> Row:
    row = Row()
    if width >= WIDE:
        row.fit(first_line(line.source), min(_SOURCE, width // 4), roles.faint).gap()
        return row.fit(first_line(line.day), _DAY, roles.muted, "right")
    return row.fit(first_line(line.day)[5:], 5, roles.muted, "right")


def _tone(sign: str, roles: Roles) -> Style:
    return {INSIDE: roles.active, UNCLEAR: roles.gate, BROKEN: roles.error}.get(sign, roles.muted)


class PiecesPanel(KeyedRows[Piece], panel="pieces", number="2", words=""):
    always_lit = True
    signs = (
        (INSIDE, "in the digest, and so in every prompt"),
        (LEFT_OUT, "left out of the digest; search finds it"),
        (REPLACED, "a decision replaced by a later one"),
        (DONE, "a completed task; the digest has only open ones"),
        (UNCLEAR, "notes whose file was moved or deleted"),
        (AWAY, "notes of a file that is not on this machine"),
        (BROKEN, "an entry with a problem"),
    )
    title = ""

    def show_group(self, items: Sequence[Piece], title: str, note: Note, about: object) -> None:
        """Shows the items of a group; selects the first if the group changed.

        Args:
            about: What ``note`` depends on besides the title.
        """
        other, self.title = title != self.title, title
        self.show_items(items, note, (title, about))
        if other and items:
            self.select(0, by_hand=False)

    def key(self, item: Piece) -> tuple[str, str]:
        return key_of(item)

    def row(self, item: Piece, width: int, chosen: bool) -> Row:
        roles = self.roles
        sign = sign_of(item)
        row = Row((f"{sign} ", _tone(sign, roles)))
        quiet = sign in (REPLACED, DONE)
        plain = roles.faint if sign == REPLACED else roles.muted if quiet else roles.normal
        plain = roles.strong if chosen else plain
        match item:
            case LinePiece(entry=line):
                right = _from(line, width, roles)
            case NotesPiece(notes=notes):
                right = Row((plural(len(notes.entries), "note"), roles.muted))
            case EntryPiece(entry=entry):
                right = Row(("shared", roles.gate)) if is_shared(entry.location) else Row()
                row.gap(2 * item.depth)
            case DigestPiece():
                right = Row((f"{item.inside:,} of {item.of:,} included", roles.muted))
        room = max(4, width - row.cells - (right.cells + 2 if right.cells else 0))
        text = first_line(name_of(item))
        text = clip_start(text, room) if isinstance(item, NotesPiece) else clip(text, room)
        row.add_found(text, self.query_text, plain, roles.accent)
        return row.gap(max(0, room - cell_len(text))).gap(2 if right.cells else 0).extend(right).cut(width)

    def searchable(self, item: Piece) -> Iterator[str]:
        yield name_of(item)
        match item:
            case LinePiece(entry=line):
                yield from (line.source, line.day, *line.lines)
            case NotesPiece(notes=notes):
                yield from (entry.text for entry in notes.entries)
            case EntryPiece(entry=entry):
                yield entry.location

    def summarise(self) -> None:
        self.set_frame(self.title, self.filter_label)

    def text_of(self, item: Piece) -> str:
        return name_of(item)


Group = Literal["facts", "decisions", "questions", "playbooks", "open", "done", "notes", "entries", "skills",
                "digest"]  # fmt: skip
FILES: dict[Group, CategoryFile] = {
    "facts": FACTS,
    "decisions": DECISIONS,
    "questions": QUESTIONS,
    "playbooks": PLAYBOOKS,
    "open": TASKS,
    "done": TASKS,
}
"""The category file behind a group, or behind part of one."""


@dataclass(frozen=True, slots=True)
class CategoryRead:
    entries: tuple[Line, ...] = ()
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


class GroupsPanel(KeyedRows[GroupItem], panel="groups", number="1", words="knowledge"):
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

    def text_of(self, item: GroupItem) -> str:
        return f"{item.group} {item.count}"
