"""Above every step of a harvest: which step it is, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.kit.bars import Bar
from tui.render.draw import Row
from tui.render.roles import Roles

Draw = Callable[[int, Roles], list[Row]]


class StepsBar(Bar):
    """A few lines that take no focus; as many as there are."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw: Draw = lambda _width, _roles: []
        self._shown: list[Row] = []

    def show(self, draw: Draw) -> None:
        """Shows other figures; draws only when something is different."""
        self._draw = draw
        self._fit()

    def on_resize(self) -> None:
        """Another width breaks lines elsewhere."""
        self._fit()

    def _fit(self) -> None:
        width = self.size.width or self.app.size.width
        before, self._shown = self._shown, self._draw(max(10, width - 2), self.roles)
        if _pieces(before) != _pieces(self._shown):
            if len(before) != len(self._shown):
                self.styles.height = max(1, len(self._shown))
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        """The lines, a cell from the edge as the panels' text is."""
        return [Row().gap().extend(row) for row in self._draw(max(10, width - 2), self.roles)]


def _pieces(rows: Sequence[Row]) -> list[object]:
    return [row.pieces for row in rows]
