"""A list, and what is selected in it in full; where there is room for one of them, the one in use."""

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
"""Lines below which one panel at a time is in view."""


def unreadable(what: str, problem: str, width: int, roles: Roles) -> list[Row]:
    """Shown in place of a list that cannot be read."""
    return [
        *wrap([(f"cannot read {what}", roles.error)], width),
        *wrap([(problem, roles.normal)], width),
        Row(("ctrl+r", roles.accent), (" tries again", roles.muted)),
    ]


class ListDetail(FullScreen):
    """Places the panels of such a screen and moves between them."""

    news: ClassVar[frozenset[Part]] = frozenset()
    """What it reads again when that has changed."""
    above: ClassVar[tuple[str, ...]] = ()
    """What gives way beside the panels where the terminal is too small."""

    def begin(self) -> None:
        """Reads what it shows."""
        self.look()

    def look(self) -> None:
        """Reads what it shows, as it is now."""

    def heard(self, burst: Burst) -> None:
        """Files changed: looks again where it shows them."""
        if burst.parts & self.news:
            self.look()

    def narrow(self, query: str) -> None:
        """Keeps to what holds some words, while they are typed."""

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.narrow(edited.value)

    def offered(self) -> tuple[str, ...]:
        """The panels that have a place where there is room for all."""
        return self.panels

    def shape(self, shown: tuple[str, ...]) -> dict[str, bool]:
        """The classes for the present size, by which the style sheet places the panels."""
        return {"-alone": len(shown) == 1, "-low": self.alone}

    def below(self) -> ComposeResult:
        """The line, where there is one."""
        if self.catalog.lines:
            yield self.prompt

    @property
    def alone(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.height < LOW

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        names = self.offered()
        if not self.alone:
            return names
        used = self.panel_before if self.in_line else self.panel_in_use
        return (used if used in names else names[0],)

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self.in_view()
        self.lay_out_frame(self.shape(shown), *self.above)
        for name in self.panels:
            self.panel_named(name).display = name in shown

    def focus_panel(self, name: str) -> None:
        """Gives a panel the keys; where only one has room, the place as well."""
        super().focus_panel(name)
        if self.alone and self.zoomed is None and not self.in_line and not self.panel_named(name).display:
            self.lay_out()

    def panel_changed(self) -> None:
        """Where only one panel has room, the one with the keys has it."""
        if self.alone:
            self.lay_out()

    def stops(self) -> tuple[str, ...]:
        """The panels, in view or not: where only one has room, tab brings the next."""
        return self.offered() if self.zoomed is None else self.in_view()

    def enlarge(self, name: str | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        super().enlarge(name)
        self.update_footer()
