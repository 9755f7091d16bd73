"""State of the knowledge screen: what was read, and the selection; touches no widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.screens.knowledge.groups import Group, GroupItem, KnowledgeRead, group_items, pieces_of
from tui.screens.knowledge.pieces import NotesPiece, Piece
from tui.screens.knowledge.reading import EntryLinks, EntryText, Followed

if TYPE_CHECKING:
    from engine.knowledge.notes import Candidate, Rebinding


class KnowledgeState:
    def __init__(self) -> None:
        self.read: KnowledgeRead | None = None
        self.unclear: tuple[Rebinding, ...] = ()
        self.problem = ""
        self.group: Group = "facts"
        self.query = ""
        self.requested = ""
        """The entry whose file and references were requested last."""
        self.texts: dict[str, EntryText] = {}
        """The text of the entry shown last, by location."""
        self.links: dict[str, EntryLinks] = {}
        self.trail: list[Followed] = []
        """The references followed from the selected item, in order."""
        self._marked: dict[str, int] = {}
        self._pieces: dict[Group, list[Piece]] = {}
        self._groups: list[GroupItem] | None = None

    def take(self, read: KnowledgeRead | None, problem: str) -> bool:
        """Stores what was read; ``False`` if reading failed but an older result is shown."""
        if read is None:
            self.problem = problem
            return self.read is None
        self.problem, self.read = "", read
        self.requested = ""  # the entry's file may have changed
        self._forget()
        return True

    def take_unclear(self, unclear: tuple[Rebinding, ...]) -> None:
        self.unclear = unclear
        self._forget()

    def _forget(self) -> None:
        self._pieces.clear()
        self._groups = None

    def current_problem(self) -> str:
        """Why the selected group cannot be shown; empty if it can, or is still loading."""
        return self.read.problem(self.group) if self.read is not None else self.problem

    def groups(self) -> list[GroupItem]:
        if self.read is None:
            return []
        if self._groups is None:
            self._groups = group_items(self.read, self.unclear)
        return self._groups

    def pieces(self) -> list[Piece]:
        """The items of the selected group, before filtering."""
        if self.read is None:
            return []
        if self.group not in self._pieces:
            self._pieces[self.group] = pieces_of(self.read, self.unclear, self.group)
        return self._pieces[self.group]

    # The selected candidate of unclear notes

    def marked(self, piece: NotesPiece) -> int:
        """The index of the selected candidate."""
        question = piece.question
        last = len(question.candidates) - 1 if question is not None else 0
        return max(0, min(self._marked.get(piece.notes.notes, 0), last))

    def mark_next(self, piece: NotesPiece) -> None:
        if piece.question is not None and piece.question.candidates:
            self._marked[piece.notes.notes] = (self.marked(piece) + 1) % len(piece.question.candidates)

    def candidate(self, piece: NotesPiece) -> Candidate | None:
        """The selected candidate; ``None`` if there are none."""
        question = piece.question
        return question.candidates[self.marked(piece)] if question and question.candidates else None
