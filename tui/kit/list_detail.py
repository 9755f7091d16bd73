"""Screens with a list and the selected item in full; on small terminals only the focused panel is shown."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult

from tui.kit.bridge import Burst, Part
from tui.kit.full_screen import FullScreen
from tui.kit.prompt import PromptLine
from tui.render.draw import Row, wrap
from tui.render.roles import Roles

LOW = 20
"""Below this many lines, one panel is shown at a time."""


def unreadable(what: str, problem: str, width: int, roles: Roles) -> list[Row]:
    """Shown in place of a list that cannot be read."""
    return [
        *wrap([(f"cannot read {what}", roles.error)], width),
        *wrap([(problem, roles.normal)], width),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


class ListDetail(FullScreen):
    """Places the panels of such a screen."""

    news: ClassVar[frozenset[Part]] = frozenset()
    """The parts whose changes make it read again."""
    above: ClassVar[tuple[str, ...]] = ()
    """Widgets hidden, besides the panels, if the terminal is too small."""

    def begin(self) -> None:
        self.look()

    def look(self) -> None:
        """Reads what the screen shows."""

    def rescan(self) -> None:
        super().rescan()
        self.look()

    def handle_events(self, burst: Burst) -> None:
        if burst.parts & self.news:
            self.look()

    def narrow(self, query: str) -> None:
        """Filters the list while the user types."""

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.narrow(edited.value)

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        """The style classes for the current size."""
        return {"-alone": len(shown) == 1, "-low": self.alone}

    def below(self) -> ComposeResult:
        if self.catalog.lines:
            yield self.prompt

    @property
    def alone(self) -> bool:
        """Whether only one panel fits."""
        return self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        if self.zoomed is not None:
            return (self.zoomed,)
        names = self.offered()
        if not self.alone:
            return names
        used = self.panel_before if self.in_line else self.panel_in_use
        return (used if used in names else names[0],)

    def lay_out(self) -> None:
        shown = self.in_view()
        self.lay_out_frame(self.shape(shown), *self.above)
        for name in self.panels:
            self.panel_named(name).display = name in shown

    def focus_panel(self, name: str) -> None:
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.in_line and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        if self.alone:
            self.lay_out()

    def stops(self) -> tuple[str, ...]:
        """All panels, visible or not: if only one fits, tab shows the next."""
        return self.offered() if self.zoomed is None else self.in_view()

    def enlarge(self, name: str | None) -> None:
        super().enlarge(name)
        self.update_footer()
