"""The lines that are no panels: header, footer, the gate's question, and the note of a small terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from engine.context.compiled import Compiled
from engine.context.views import StatusView
from engine.events import GateAsked, IndexProgress
from tui.kit.command import key_named
from tui.kit.draw_bars import HeaderView, footer, header, key_at, question_lines, too_small
from tui.render.draw import Row
from tui.render.roles import Roles


class Bar(Widget):
    """A few fixed lines that take no focus."""

    @property
    def roles(self) -> Roles:
        """The styles of the theme in use."""
        return Roles.of(self.app.theme_variables, coloured=not self.app.no_color)

    def rows(self, width: int) -> list[Row]:
        """What it says."""
        return []

    def render_line(self, y: int) -> Strip:
        """One of its lines."""
        rows = self.rows(self.size.width)
        under = self.rich_style
        return rows[y].strip(self.size.width, under) if y < len(rows) else Strip.blank(self.size.width, under)


AnyBar = TypeVar("AnyBar", bound=Bar)


class Header(Bar):
    """The top line."""

    def __init__(self, root: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.view = HeaderView(root)

    def show(
        self, status: StatusView | None, compiled: Compiled | None, progress: IndexProgress | None
    ) -> None:
        """Shows another state; draws only when something is different."""
        view = HeaderView(self.view.root, status, compiled, progress)
        if view != self.view:
            self.view = view
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        """One line."""
        return [header(self.view, width, self.roles, coloured=not self.app.no_color)]


class Footer(Bar):
    """The bottom line."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.entries: list[tuple[str, str]] = []

    def show(self, entries: list[tuple[str, str]]) -> None:
        """Shows other keys; draws only when something is different."""
        if entries != self.entries:
            self.entries = entries
            self.refresh()

    def on_click(self, event: Click) -> None:
        """A click on a key presses it."""
        key = key_at(self.entries, self.size.width, self.roles, event.x)
        if key:
            self.app.simulate_key(key_named(key))

    def rows(self, width: int) -> list[Row]:
        """One line."""
        return [footer(self.entries, width, self.roles)]


class QuestionBar(Bar):
    """The gate's question, visible until it is answered or its time is up."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.asked: GateAsked | None = None
        self.left_s = 0.0
        self.waiting = 0
        self.letters = True

    def on_mount(self) -> None:
        """Says who asks."""
        self.border_title = Content("the gate asks")

    def show(self, asked: GateAsked | None, left_s: float, waiting: int) -> None:
        """Shows a question with its time left, or nothing."""
        self.asked, self.left_s, self.waiting = asked, left_s, waiting
        self.display = asked is not None
        self.refresh()

    def answer_by(self, *, letters: bool) -> None:
        """Says by which keys it is answered: letters, or letters with ctrl where those do something else."""
        if letters != self.letters:
            self.letters = letters
            self.refresh()

    def rows(self, width: int) -> list[Row]:
        """Two lines."""
        if self.asked is None:
            return []
        return question_lines(self.asked, self.left_s, self.waiting, width, self.roles, letters=self.letters)


class TooSmall(Bar):
    """Stands alone where the terminal is too small."""

    def rows(self, width: int) -> list[Row]:
        """What size it needs."""
        size = self.app.size
        return too_small(size.width, size.height, self.roles)


def bars(screen: Screen[None], kind: type[AnyBar]) -> list[AnyBar]:
    """The bars of a kind on a screen and on those over it."""
    screens = dict.fromkeys((screen, *screen.app.screen_stack))
    return [bar for each in screens for bar in each.query(kind)]
