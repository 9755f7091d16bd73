"""A page over the workbench: help, an explanation in full, a command's output. esc closes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.kit import clipboard
from tui.kit.panel import KEYS_OF, LinesPanel, Motion
from tui.render.draw import Row
from tui.render.roles import Roles

Builder = Callable[[int, Roles], list[Row]]

CLOSING = ("escape", "q", "enter", "question_mark")


class PagePanel(LinesPanel):
    """The page itself."""

    name_of = "feed"

    def __init__(self, title: str, build: Builder) -> None:
        super().__init__(id="page")
        self._title = title
        self._build = build

    def first_frame(self) -> None:
        """Says how to leave."""
        self.set_frame(self._title, "esc closes · j k move · Y copies")

    def turn_to(self, title: str, build: Builder) -> None:
        """Shows something else."""
        self._title, self._build = title, build
        self.set_frame(title, "esc closes · j k move · Y copies")
        self.changed()
        self.scroll_to(y=0, animate=False)

    def draw(self, width: int, height: int) -> list[Row]:
        """What was asked for."""
        return self._build(width, self.roles)


class PageScreen(ModalScreen[None], inherit_bindings=False):
    """Shows lines until it is closed.

    Args:
        title: Plain text for the frame.
        build: Draws the lines for a width.
        full: Takes nearly the whole screen instead of what a page of text needs.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"move('{motion.name}')", show=False, priority=True)
            for motion, keys in KEYS_OF.items()
            for key in keys
        ),
        *(Binding(key, "close", show=False, priority=True) for key in CLOSING),
        Binding("Y", "copy", show=False, priority=True),
    ]

    def __init__(self, title: str, build: Builder, *, full: bool = False) -> None:
        super().__init__(classes="-full" if full else None)
        self.panel = PagePanel(title, build)

    def compose(self) -> ComposeResult:
        """The page."""
        yield self.panel

    def action_move(self, motion: str) -> None:
        """Scrolls."""
        self.panel.move(Motion[motion])

    def action_close(self) -> None:
        """Back to the workbench."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copies the whole page."""
        self.notify(clipboard.copied(self.app, self.panel.selected_text()), markup=False)
