"""The base of all panels: a frame with number and title, cursor movement, and line rendering."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Any, ClassVar

from rich.style import Style as RichStyle
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style

from tui.render.draw import Row, clip
from tui.render.roles import Roles
from tui.render.safe import visible


class Motion(Enum):
    UP = "up"
    DOWN = "down"
    FIRST = "first"
    LAST = "last"
    HALF_UP = "half up"
    HALF_DOWN = "half down"


KEYS_OF: dict[Motion, tuple[str, ...]] = {
    Motion.DOWN: ("j", "down"),
    Motion.UP: ("k", "up"),
    Motion.HALF_DOWN: ("ctrl+d", "pagedown"),
    Motion.HALF_UP: ("ctrl+u", "pageup"),
    Motion.FIRST: ("g", "home"),
    Motion.LAST: ("G", "end"),
}
"""Textual key names of each movement."""


def moved(motion: Motion, at: int, last: int, half: int) -> int:
    """The target of a movement from ``at``, possibly out of range; ``half`` is half a page."""
    return {
        Motion.UP: at - 1,
        Motion.DOWN: at + 1,
        Motion.FIRST: 0,
        Motion.LAST: last,
        Motion.HALF_UP: at - half,
        Motion.HALF_DOWN: at + half,
    }[motion]


class Panel(ScrollView, can_focus=True, inherit_bindings=False):
    """A framed area drawn line by line. It binds no keys; the screen handles them and calls ``move``.

    A subclass gives its name, the number of its key and the title's words, which are its name by default.
    """

    name_of: ClassVar[str]
    number: ClassVar[str] = ""
    words: ClassVar[str] = ""
    signs: ClassVar[Sequence[tuple[str, str]]] = ()
    """The signs it draws, with their meanings for the help page."""
    _under: RichStyle | None = None
    _frame: tuple[str, str, bool] = ("", "", False)
    _framed: tuple[str, str, bool, int, str] | None = None

    def __init_subclass__(
        cls, panel: str = "", number: str = "", words: str | None = None, **rest: Any
    ) -> None:
        if panel:
            cls.name_of, cls.number, cls.words = panel, number, panel if words is None else words
        super().__init_subclass__(**rest)

    @property
    def roles(self) -> Roles:
        return Roles.of(self.app.theme_variables, coloured=self.coloured)

    @property
    def coloured(self) -> bool:
        return not self.app.no_color

    def on_mount(self) -> None:
        self.first_frame()

    def first_frame(self) -> None:
        """Sets the initial frame."""
        self.set_frame()

    def set_frame(self, beside: str = "", below: str = "", *, error: bool = False) -> None:
        """Sets the frame: number and title, the text next to them, and the text at the lower edge."""
        rest = max(0, self.rest()) if self.size.height else 0
        self._frame = (beside, below, error)
        framed = (beside, below, error, rest, self.app.theme)
        if self._framed == framed:
            return
        self._framed = framed
        number = f"{self.number} " if self.number else ""
        title = visible(f"{self.words}  {beside}" if self.words and beside else self.words or beside)
        words = len(self.words) if self.words else len(title)
        self.border_title = Content.assemble(
            (number, Style.parse("$accent")),
            title[:words],
            (title[words:], Style.parse("$muted not bold")),
        )
        more = f"↓ {rest:,}" if rest else ""
        below = clip(below, self.size.width - len(more) - 5) if more and below else below
        tone = "$error" if error else "$muted"
        pieces = [(visible(below), tone), ("   " if more and below else "", ""), (more, "$accent")]
        label = Content.assemble(*pieces)
        self.border_subtitle = label if label.plain else None

    def summarise(self) -> None:
        """Updates the frame after content, selection or size changed."""

    def reframe(self) -> None:
        """Updates what the frame says of the lines below the visible ones, and its colours."""
        if self._framed is not None:
            beside, below, error = self._frame
            self.set_frame(beside, below, error=error)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.reframe()

    def rest(self) -> int:
        """The number of lines or rows below the visible ones."""
        return 0

    def refresh_different(self, before: Sequence[Row], after: Sequence[Row], top: int = 0) -> None:
        """Redraws only the changed lines, which matters on slow connections."""
        width, height = self.size
        for y in range(height):
            old = before[y + top].pieces if y + top < len(before) else None
            new = after[y + top].pieces if y + top < len(after) else None
            if old != new:
                self.refresh(Region(0, y, width, 1))

    def move(self, motion: Motion) -> None:
        """Scrolls; panels with a selection move it instead."""
        half = max(1, self.size.height // 2)
        target = moved(motion, self.scroll_offset.y, self.virtual_size.height, half)
        self.scroll_to(y=target, animate=False, force=True)

    query_text = ""
    """What its list is filtered by."""

    def turn(self, step: int) -> None:
        """Moves the selection by ``step`` rows, wrapping around."""
        self.move(Motion.DOWN if step > 0 else Motion.UP)

    def selected_text(self) -> str:
        """The text to copy to the clipboard."""
        return ""

    @property
    def row_count(self) -> int:
        """The number of selectable rows; for panels without rows, 1, or 0 if empty."""
        return 1

    @property
    def under(self) -> RichStyle:
        """The base style of every line."""
        if self._under is None:
            self._under = self.rich_style
        return self._under

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._under = None
        self.reframe()


class LinesPanel(Panel):
    """A scrollable panel that draws all its lines at once; for a few hundred lines."""

    lit = -1
    """The highlighted line, set by ``draw``."""
    _lines: list[Row] | None = None
    _drawn_for: tuple[int, int] = (0, 0)

    def draw(self, width: int, height: int) -> list[Row]:
        """The whole content for a width; ``height`` is the visible part."""
        return []

    def changed(self) -> None:
        """Redraws the lines that changed."""
        before, self._lines = self._lines, None
        if self.is_mounted and self.size.width:
            if before is None or self._drawn_for != (self.size.width, self.size.height):
                self.refresh()
            else:
                self.refresh_different(before, self.lines(), self.scroll_offset.y)
            self._fit()

    def lines(self) -> list[Row]:
        """The lines drawn for the current size."""
        size = (self.size.width, self.size.height)
        if self._lines is None or self._drawn_for != size:
            self._lines = self.draw(*size)
            self._drawn_for = size
        return self._lines

    def rest(self) -> int:
        return self.virtual_size.height - self.scroll_offset.y - self.size.height

    def _fit(self) -> None:
        if self.is_mounted and self.size.width:
            self.virtual_size = Size(self.size.width, len(self.lines()))
            self.reframe()

    def on_resize(self) -> None:
        self._lines = None
        self._fit()
        self.summarise()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._lines = None

    def render_line(self, y: int) -> Strip:
        lines = self.lines()
        at = y + self.scroll_offset.y
        width = self.size.width
        if not 0 <= at < len(lines):
            return Strip.blank(width, self.under)
        return lines[at].strip(width, self.under + self.roles.selection if at == self.lit else self.under)

    def selected_text(self) -> str:
        return "\n".join(row.text.rstrip() for row in self.lines())


Drawing = partial[list[Row]]
"""A function that draws lines, missing only width and roles."""


class DrawingPanel(LinesPanel):
    """Shows what a function draws of the selected item."""

    nothing: ClassVar[str] = "nothing is selected"
    """Shown without a drawing."""
    _drawing: Drawing | None = None
    _about: object = None

    @property
    def row_count(self) -> int:
        return int(self._drawing is not None)

    def show_drawing(self, drawing: Drawing | None, title: str, about: object) -> None:
        """Shows a drawing; redraws only if it is of something else.

        Args:
            about: Identifies the item; the scroll position is kept while it is the same.
        """
        self.set_frame(title)
        before, self._drawing = self._drawing, drawing
        same, self._about = about == self._about, about
        if before is None or drawing is None or (before.func, before.args) != (drawing.func, drawing.args):
            self.changed()
        if not same:
            self.scroll_to(y=0, animate=False, force=True)

    def draw(self, width: int, height: int) -> list[Row]:
        if self._drawing is None:
            return [Row((self.nothing, self.roles.faint))]
        return self._drawing(width, self.roles)
