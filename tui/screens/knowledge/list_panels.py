"""Panels 1 and 2 of the knowledge screen: the groups, and what is in the selected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.kit.rows import RowList
from tui.render.draw import Row
from tui.render.roles import Roles
from tui.screens.knowledge.groups import GroupItem, draw_group
from tui.screens.knowledge.pieces import (
    AWAY,
    BROKEN,
    DONE,
    INSIDE,
    LEFT_OUT,
    REPLACED,
    UNCLEAR,
    Piece,
    draw_piece,
    finds,
    key_of,
    name_of,
)

Note = Callable[[int, Roles], list[Row]]


class GroupsPanel(RowList[GroupItem]):
    """A line for each group."""

    name_of = "groups"
    number = "1"
    words = "knowledge"
    always_lit = True
    signs = (
        (UNCLEAR, "notes whose file is gone, or may be another"),
        (BROKEN, "something is wrong there, or it cannot be read"),
    )

    def show_groups(self, items: Sequence[GroupItem]) -> None:
        """Shows other counts."""
        if list(items) == list(self.items):
            return
        first = not self.items
        self.show(items)
        if first and items:
            self.select(0, by_hand=False)

    def _grown(self, items: Sequence[GroupItem]) -> bool:
        """A row in the middle may be another, so this list never only grows."""
        return False

    def _index_of(self, item: GroupItem | None) -> int:
        """Where a group is now, whatever its count."""
        groups = [each.group for each in self.items]
        return groups.index(item.group) if item is not None and item.group in groups else 0 if groups else -1

    def row(self, item: GroupItem, width: int, chosen: bool) -> Row:
        """A group."""
        return draw_group(item, width, self.roles, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        """Only while it is looked for."""
        return [Row(("…", self.roles.faint))]

    def selected_text(self) -> str:
        """The selected group."""
        item = self.selected
        return f"{item.group} {item.count}" if item is not None else ""


class PiecesPanel(RowList[Piece]):
    """A line for each thing in the group."""

    name_of = "pieces"
    number = "2"
    always_lit = True
    signs = (
        (INSIDE, "in the digest now, so every prompt holds it"),
        (LEFT_OUT, "left out of the digest; it is found by search"),
        (REPLACED, "a decision that a later one replaces"),
        (DONE, "a task that is done; the digest holds open ones"),
        (UNCLEAR, "notes whose file is gone, or may be another"),
        (AWAY, "notes of a file that is not on this machine"),
        (BROKEN, "an entry with something wrong"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.title = ""
        self._note: Note | None = None
        self._about: object = None
        self._group: object = None

    def show_pieces(
        self, items: Sequence[Piece], group: object, title: str, note: Note, about: object
    ) -> None:
        """Shows another group, or the same with other content.

        Args:
            items: The rows.
            group: Which group it is; of another one the first row is selected.
            title: What stands in the frame.
            note: Draws what stands where there are no rows.
            about: What ``note`` depends on, so that it is drawn again when that changes.
        """
        if (about, group) != (self._about, self._group) and not self.row_count:
            self.refresh()
        other = group != self._group
        self.title, self._note, self._about, self._group = title, note, about, group
        if other or list(items) != list(self.items):
            first = other or not self.items
            self.show(items)
            if first and items:
                self.select(0, by_hand=False)
        self.summarise()

    def _grown(self, items: Sequence[Piece]) -> bool:
        """What is new stands at the top, so this list never only grows."""
        return False

    def _index_of(self, item: Piece | None) -> int:
        """Where a thing is now, whatever became of its neighbours and its place in the digest."""
        size = self.row_count
        if item is None or not size:
            return 0 if size else -1
        wanted = key_of(item)
        found = next((at for at in range(size) if key_of(self.item_at(at)) == wanted), -1)
        return found if found >= 0 else min(max(self.cursor, 0), size - 1)

    def row(self, item: Piece, width: int, chosen: bool) -> Row:
        """A thing."""
        return draw_piece(item, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: Piece, query: str) -> bool:
        """Whether the filter keeps it."""
        return finds(item, query)

    def empty(self, width: int) -> list[Row]:
        """Why there is nothing."""
        return self._note(width, self.roles) if self._note is not None else []

    def summarise(self) -> None:
        """The group, and what the list is narrowed to."""
        below = f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}" if self.query_text else ""
        self.set_frame(self.title, below)

    def selected_text(self) -> str:
        """What the selected thing says."""
        item = self.selected
        return name_of(item) if item is not None else ""
