"""What the knowledge screen knows: what was found, which group and which thing are selected.

Nothing here touches a widget or waits for anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.screens.knowledge.groups import Group, GroupItem, Held, group_items, pieces_of
from tui.screens.knowledge.pieces import NotesPiece, Piece
from tui.screens.knowledge.reading import EntryLinks, EntryText, Followed

if TYPE_CHECKING:
    from engine.knowledge.notes import Rebinding
    from engine.knowledge.whereabouts import Candidate


class KnowledgeState:
    """The state of one knowledge screen."""

    def __init__(self) -> None:
        self.held: Held | None = None
        self.unclear: tuple[Rebinding, ...] = ()
        self.problem = ""
        self.group: Group = "facts"
        self.query = ""
        self.asked_for = ""
        """The entry whose file and references were asked for last."""
        self.texts: dict[str, EntryText] = {}
        """What the file of the entry that was in view last says, by its location."""
        self.links: dict[str, EntryLinks] = {}
        self.trail: list[Followed] = []
        """The references that were followed from the selected thing, one from the other."""
        self._marked: dict[str, int] = {}
        self._pieces: dict[Group, list[Piece]] = {}
        self._groups: list[GroupItem] | None = None

    def take(self, held: Held | None, problem: str) -> bool:
        """Takes over what was found; ``False`` where nothing could be and something older is shown."""
        if held is None:
            self.problem = problem
            return self.held is None
        self.problem, self.held = "", held
        self.asked_for = ""  # the file of an entry may say something else now
        self._forget()
        return True

    def take_unclear(self, unclear: tuple[Rebinding, ...]) -> None:
        """Takes over which notes are unclear."""
        self.unclear = unclear
        self._forget()

    def _forget(self) -> None:
        """What is made of what was found has to be made anew."""
        self._pieces.clear()
        self._groups = None

    def why_not(self) -> str:
        """Why the selected group cannot be shown; empty where it can, or is still being read."""
        return self.held.problem(self.group) if self.held is not None else self.problem

    def groups(self) -> list[GroupItem]:
        """The groups."""
        if self.held is None:
            return []
        if self._groups is None:
            self._groups = group_items(self.held, self.unclear)
        return self._groups

    def pieces(self) -> list[Piece]:
        """What is in the selected group, before any filter."""
        if self.held is None:
            return []
        if self.group not in self._pieces:
            self._pieces[self.group] = pieces_of(self.held, self.unclear, self.group)
        return self._pieces[self.group]

    # The thing in view

    def marked(self, piece: NotesPiece) -> int:
        """The number of the candidate that is marked."""
        question = piece.question
        last = len(question.candidates) - 1 if question is not None else 0
        return max(0, min(self._marked.get(piece.notes.notes, 0), last))

    def mark_next(self, piece: NotesPiece) -> None:
        """Marks the next candidate."""
        if piece.question is not None and piece.question.candidates:
            self._marked[piece.notes.notes] = (self.marked(piece) + 1) % len(piece.question.candidates)

    def candidate(self, piece: NotesPiece) -> Candidate | None:
        """The candidate that is marked; ``None`` where there are none."""
        question = piece.question
        return question.candidates[self.marked(piece)] if question and question.candidates else None
