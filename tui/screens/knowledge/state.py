"""What the knowledge screen knows: what was found, which group and which thing are selected.

Nothing here touches a widget or waits for anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tui.screens.knowledge.groups import Group, GroupItem, Held, group_items, pieces_of
from tui.screens.knowledge.pieces import NotesPiece, Piece
from tui.screens.knowledge.reading import EntryLinks, EntryText
from tui.screens.knowledge.work import LinksRead, LookedAt, TextRead, UnclearFound

if TYPE_CHECKING:
    from engine.knowledge.notes import Rebinding
    from engine.knowledge.whereabouts import Candidate

Phase = Literal["loading", "trouble", "found"]


class KnowledgeState:
    """The state of one knowledge screen."""

    def __init__(self) -> None:
        self.held: Held | None = None
        self.unclear: tuple[Rebinding, ...] = ()
        self.problem = ""
        self.group: Group = "facts"
        self.query = ""
        self.asked_for = ""
        self._text: tuple[str, EntryText] | None = None
        self._links: tuple[str, EntryLinks] | None = None
        self._marked: dict[str, int] = {}
        self._pieces: dict[Group, list[Piece]] = {}
        self._groups: list[GroupItem] | None = None

    @property
    def phase(self) -> Phase:
        """What the list shows."""
        if self.held is None:
            return "trouble" if self.problem else "loading"
        return "found"

    def take(self, looked: LookedAt) -> bool:
        """Takes over what was found; ``False`` where nothing could be and something older is shown."""
        if looked.held is None:
            self.problem = looked.problem
            return self.held is None
        self.problem, self.held = "", looked.held
        self.asked_for = ""  # the file of an entry may say something else now
        self._forget()
        return True

    def take_unclear(self, found: UnclearFound) -> None:
        """Takes over which notes are unclear."""
        if found.unclear is not None:
            self.unclear = found.unclear
            self._forget()

    def groups(self) -> list[GroupItem]:
        """The groups."""
        if self.held is None:
            return []
        if self._groups is None:
            self._groups = group_items(self.held, self.unclear)
        return self._groups

    def _forget(self) -> None:
        """What is made of what was found has to be made anew."""
        self._pieces.clear()
        self._groups = None

    def pieces(self) -> list[Piece]:
        """What is in the selected group, before any filter."""
        if self.held is None:
            return []
        if self.group not in self._pieces:
            self._pieces[self.group] = pieces_of(self.held, self.unclear, self.group)
        return self._pieces[self.group]

    # The thing in view

    def take_text(self, read: TextRead) -> None:
        """Takes over the file of an entry."""
        self._text = (read.location, read.text)

    def take_links(self, read: LinksRead) -> None:
        """Takes over the references of an entry."""
        self._links = (read.location, read.links)

    def text_of(self, location: str) -> EntryText | None:
        """The file of an entry; ``None`` while it is being read."""
        return self._text[1] if self._text is not None and self._text[0] == location else None

    def links_of(self, location: str) -> EntryLinks | None:
        """The references of an entry; ``None`` while they are looked for."""
        return self._links[1] if self._links is not None and self._links[0] == location else None

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
        return (
            question.candidates[self.marked(piece)] if question is not None and question.candidates else None
        )
