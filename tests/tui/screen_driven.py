"""Drives a screen over the workbench in tests."""

from __future__ import annotations

from typing import Generic, TypeVar

from tests.tui.conftest import Driven
from tui.kit.full_screen import FullScreen

ScreenT = TypeVar("ScreenT", bound=FullScreen)


class ScreenDriven(Driven, Generic[ScreenT]):
    """Drives a running screen of one kind; ``panel`` is still the workbench's."""

    kind: type[ScreenT]

    def _open_screens(self) -> list[ScreenT]:
        return [each for each in self.app.screen_stack if isinstance(each, self.kind)]

    @property
    def screen(self) -> ScreenT:
        """The screen, even while others cover it."""
        return self._open_screens()[0]

    def is_open(self) -> bool:
        """Whether it is still open."""
        return bool(self._open_screens())

    def focused_panel(self) -> str:
        """The focused panel."""
        return str(self.screen.panel_in_use)

    def zoomed(self) -> str | None:
        """The zoomed panel."""
        return self.screen.zoomed

    @property
    def toasts(self) -> str:
        """The text of the visible notifications."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that contains ``words``."""
        return next(line for line in self.lines if words in line)

    def pending(self) -> bool:
        """Whether the workbench or the screen is waiting for something."""
        return super().pending() or any(each.waiting for each in self._open_screens())
