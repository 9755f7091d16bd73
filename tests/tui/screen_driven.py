"""A screen over the workbench as a test drives it."""

from __future__ import annotations

from typing import Generic, TypeVar

from tests.tui.conftest import Driven
from tui.kit.full_screen import FullScreen

Shown = TypeVar("Shown", bound=FullScreen)


class ScreenDriven(Driven, Generic[Shown]):
    """A running screen of one kind and the hand that drives it; ``panel`` is still the workbench's."""

    kind: type[Shown]

    def _there(self) -> list[Shown]:
        return [each for each in self.app.screen_stack if isinstance(each, self.kind)]

    @property
    def screen(self) -> Shown:
        """The screen, whatever lies over it."""
        return self._there()[0]

    def is_open(self) -> bool:
        """Whether it is still open."""
        return bool(self._there())

    def in_use(self) -> str:
        """Which of its panels has the keys."""
        return str(self.screen.panel_in_use)

    def zoomed(self) -> str | None:
        """Which of its panels has the whole area."""
        return self.screen.zoomed

    @property
    def said(self) -> str:
        """All that was said in passing and is still to be seen."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that holds some words."""
        return next(line for line in self.lines if words in line)

    def pending(self) -> bool:
        """Whether workbench or screen wait for something."""
        return super().pending() or any(each.waiting for each in self._there())
