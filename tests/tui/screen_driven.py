"""Drives a screen over the workbench in tests."""

from __future__ import annotations

from typing import Generic, TypeVar

from tests.tui.conftest import Driven
from tui.kit.full_screen import FullScreen

Shown = TypeVar("Shown", bound=FullScreen)


class ScreenDriven(Driven, Generic[Shown]):
    """Drives a running screen of one kind; ``panel`` is still the workbench's."""

    kind: type[Shown]

    def _there(self) -> list[Shown]:
        return [each for each in self.app.screen_stack if isinstance(each, self.kind)]

    @property
    def screen(self) -> Shown:
        """The screen, even when others cover it."""
        return self._there()[0]

    def is_open(self) -> bool:
        """Whether it is still open."""
        return bool(self._there())

    def in_use(self) -> str:
        """The focused panel."""
        return str(self.screen.panel_in_use)

    def zoomed(self) -> str | None:
        """The zoomed panel."""
        return self.screen.zoomed

    @property
    def said(self) -> str:
        """The visible notifications."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that contains ``words``."""
        return next(line for line in self.lines if words in line)

    def pending(self) -> bool:
        """Whether the workbench or the screen is waiting for something."""
        return super().pending() or any(each.waiting for each in self._there())
