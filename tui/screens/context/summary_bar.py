"""The lines above the panels of the context screen."""

from __future__ import annotations

from tui.kit.bars import Bar
from tui.render.draw import Row
from tui.screens.context.summary import Summary, summary_rows


class SummaryBar(Bar):
    """Whose prompt it is, how full it is, and its topics or how it differs; as high as the screen allows."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = Summary()

    def show(self, view: Summary) -> None:
        """Shows another state; draws only when something is different."""
        if view != self.view:
            self.view = view
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        """One to three lines."""
        return summary_rows(self.view, width, self.size.height, self.roles)
