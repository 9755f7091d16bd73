"""Panel 2 of the knowledge screen: what is in the selected group."""

from __future__ import annotations

from collections.abc import Sequence

from tui.kit.keyed_rows import KeyedRows, Note
from tui.render.draw import Row
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


class PiecesPanel(KeyedRows[Piece]):
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

    def show_group(self, items: Sequence[Piece], title: str, note: Note, about: object) -> None:
        """Shows the pieces of a group, which its title names; of another one the first is selected.

        Args:
            note: Draws what stands where there are no rows.
            about: What ``note`` depends on beside the title.
        """
        other, self.title = title != self.title, title
        self.show_items(items, note, (title, about))
        if other and items:
            self.select(0, by_hand=False)

    def key(self, item: Piece) -> tuple[str, str]:
        """What stays of it when its file changes elsewhere."""
        return key_of(item)

    def row(self, item: Piece, width: int, chosen: bool) -> Row:
        """A thing."""
        return draw_piece(item, width, self.roles, query=self.query_text, chosen=chosen)

    def finds(self, item: Piece, query: str) -> bool:
        """Whether the filter keeps it."""
        return finds(item, query)

    def summarise(self) -> None:
        """The group, and what the list is narrowed to."""
        below = f"/{self.query_text}  {self.row_count:,} of {len(self.items):,}" if self.query_text else ""
        self.set_frame(self.title, below)

    def selected_text(self) -> str:
        """What the selected thing says."""
        item = self.selected
        return name_of(item) if item is not None else ""
