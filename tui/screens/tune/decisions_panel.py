"""Panel 3 of the tune screen: the decisions that flip, or those worth a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.kit.rows import RowList
from tui.render.draw import Row, joined_within, wrap
from tui.render.figures import count
from tui.screens.tune.decisions import SIGNS, DecisionItem, decision_row, label_text
from tui.screens.tune.listing import Listing

if TYPE_CHECKING:
    from engine.activation.tuning.replay import FlipKind


class DecisionsPanel(RowList[DecisionItem]):
    """Flips, newest first, or the decisions nearest to the cuts, those without a label first."""

    name_of = "decisions"
    number = "3"
    words = "decisions"
    always_lit = True
    signs = (
        ("+", "fixed: decided wrongly with today's cuts, rightly with the moved ones"),
        ("−", "lost: the reverse"),
        ("~", "changed: nobody has said what is right, or it comes out the same"),
        ("?", "nobody has said whether the topic was useful"),
    )

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.listing = Listing()
        self.note = ""
        self.standing = ""
        self._of = ""

    def show_listing(self, topic: str, listing: Listing, note: str = "", standing: str = "") -> None:
        """Shows another list; on the same topic the same decision stays selected while it is listed.

        Args:
            note: Why there are none.
            standing: Topic and cuts, if no other panel shows them.
        """
        same = topic == self._of
        before = self.selected
        alike = (self.listing.flips is None) is (listing.flips is None)
        self.listing, self.note, self.standing, self._of = listing, note, standing, topic
        self.show(listing.items)
        if not listing.items:
            self.refresh()
        index = 0
        if same and alike and before is not None:
            index = next((at for at, item in enumerate(listing.items) if item.id == before.id), self.cursor)
        self.select(index, by_hand=False)
        self.summarise()

    def _grown(self, items: Sequence[DecisionItem]) -> bool:
        """A label changes a row in the middle, so this list never only grows."""
        return False

    def row(self, item: DecisionItem, width: int, chosen: bool) -> Row:
        """A decision."""
        return decision_row(item, width, self.roles, chosen)

    def empty(self, width: int) -> list[Row]:
        """Why there are none."""
        return wrap([(self.note, self.roles.muted)], width)

    def select_id(self, name: str) -> None:
        """Selects a decision by its id, where it is listed."""
        for at, item in enumerate(self.items):
            if item.id == name:
                self.select(at)

    def next_row(self) -> None:
        """Moves on after a label, and stays on the last."""
        self.select(self.cursor + 1)

    def on_resize(self) -> None:
        """Another width has room for other words in the frame."""
        super().on_resize()
        self.summarise()

    def summarise(self) -> None:
        """How many there are and of what kind; how many are shown where not all are."""
        listing, shown = self.listing, len(self.items)
        flips = listing.flips
        if flips is not None:
            beside = f"{count(listing.total)} flip"
            kinds: tuple[tuple[int, FlipKind], ...] = (
                (flips.fixed, "fixed"),
                (flips.lost, "lost"),
                (flips.changed, "changed"),
            )
            if listing.total:
                words = ", ".join(f"{count(number)} {kind}" for number, kind in kinds if number)
                signs = " ".join(f"{SIGNS[kind]}{count(number)}" for number, kind in kinds if number)
                room = self.size.width - len(self.words) - len(beside) - 8
                beside += f": {words if len(words) <= room else signs}"
        else:
            beside = "nearest to the cuts" if shown else ""
        parts = [f"{count(shown)} of {count(listing.total)} shown"] if shown < listing.total else []
        if shown:
            parts += ["y useful", "n noise", "o open"]
        if self.standing:
            parts.insert(0, self.standing)
        self.set_frame(beside, joined_within(parts, self.size.width - 4))

    def selected_text(self) -> str:
        """The selected decision as a line."""
        item = self.selected
        if item is None:
            return ""
        return f"{item.at} {item.id} {label_text(item.useful, self.roles)[0]} {item.score:.4f} {item.message}"
