"""A screen whose keys, footer, help and palette come from one catalogue of commands."""

from __future__ import annotations

from textual.screen import Screen

from tui.commands.command import Command, Situation


class Commanded(Screen[None], inherit_bindings=False):
    """What palette and help need to know of a screen."""

    @property
    def situation(self) -> Situation:
        """What the keys depend on."""
        raise AssertionError(f"{type(self).__name__} has no situation")

    def do(self, command: type[Command]) -> None:
        """Does a command that was chosen by name."""
        raise AssertionError(f"{type(self).__name__} does no commands")
