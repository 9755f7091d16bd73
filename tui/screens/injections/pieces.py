"""One injection: its sections, why each was chosen, and whether it was used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.kit.selectable_page import FACT, SelectablePage
from tui.render.draw import Row
from tui.render.injections import USE, InjectionView, draw_view

if TYPE_CHECKING:
    from engine.agents.audit import Piece


class PiecesPanel(SelectablePage):
    name_of = "pieces"
    number = "2"
    words = "sections"
    signs = tuple(USE.values())

    view: InjectionView | None = None

    def show_view(self, view: InjectionView | None) -> None:
        if view == self.view:
            return
        before, self.view = self.view, view
        is_same = before is not None and view is not None and before.entry.at == view.entry.at
        self.redraw(other=not is_same or before is None or before.pieces is None)
        self.set_frame(str(len(view.pieces)) if view is not None and view.pieces else "")

    def draw_page(self, width: int) -> list[tuple[Row, int]]:
        drawn = draw_view(self.view, width, self.roles) if self.view is not None else []
        return [(row, FACT if place is None else place) for row, place in drawn]

    def initial_row(self) -> int:
        return next((item.at for item in self.items if item.line != FACT), 0)

    @property
    def piece(self) -> Piece | None:
        pieces = self.view.pieces if self.view is not None else None
        return pieces[self.line] if pieces and self.line != FACT else None

    def empty(self, width: int) -> list[Row]:
        return [Row(("nothing is selected", self.roles.faint))]
