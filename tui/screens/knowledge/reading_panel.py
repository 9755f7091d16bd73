"""Panel 3 of the knowledge screen: the selected thing in full."""

from __future__ import annotations

from collections.abc import Callable

from tui.kit.panel import LinesPanel
from tui.render.draw import Row
from tui.render.roles import Roles

Draw = Callable[[int, Roles], list[Row]]


class ReadingPanel(LinesPanel):
    """Whatever is selected, drawn by what knows how."""

    name_of = "reading"
    number = "3"
    signs = (("▸", "the candidate that b binds the notes to; space marks the next"),)

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._draw: Draw | None = None
        self._about: object = None
        self._key: object = None

    @property
    def row_count(self) -> int:
        """Whether something is shown."""
        return int(self._draw is not None)

    def show(self, draw: Draw | None, title: str, key: object, about: object) -> None:
        """Shows another thing, or the same as it is now.

        Args:
            draw: Draws it; ``None`` where nothing is selected.
            title: What stands in the frame.
            key: Which thing it is: the place in it stays while it is the same.
            about: All that it is drawn from, so that it is drawn again only when that changes.
        """
        self.set_frame(title)
        if (key, about) == (self._key, self._about):
            return
        same = key == self._key
        self._draw, self._key, self._about = draw, key, about
        self.changed()
        if not same:
            self.scroll_to(y=0, animate=False, force=True)

    def draw(self, width: int, height: int) -> list[Row]:
        """All of it."""
        if self._draw is None:
            return [Row(("nothing is selected", self.roles.faint))]
        return self._draw(width, self.roles)
