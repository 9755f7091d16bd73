"""The palette of all commands."""

from __future__ import annotations

from functools import partial

from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tui.kit.command import Command, Situation
from tui.kit.commands import Commanded


class Palette(CommandPalette):
    """The palette. Its list is moved only once it is laid out: before, its rows have no place yet."""

    def _action_command_list(self, action: str) -> None:
        self.call_after_refresh(super()._action_command_list, action)


class Commands(Provider):
    """Lists all commands with their keys, and the reason for those unavailable."""

    async def discover(self) -> Hits:
        """All commands, in the order of the help, unavailable ones last."""
        screen = self.screen
        if isinstance(screen, Commanded):
            situation = screen.situation
            offered = [each for each in screen.catalog if each.palette and _offered(each, situation)]
            for command in sorted(offered, key=lambda each: _reason(screen, each, situation) != ""):
                text = f"{command.title}  ({command.shown_keys[0]})"
                help_text = _help(screen, command, situation)
                yield DiscoveryHit(Content(text), partial(screen.do, command), text=text, help=help_text)

    async def search(self, query: str) -> Hits:
        """Commands whose title matches the query."""
        screen = self.screen
        if not isinstance(screen, Commanded):
            return
        matcher = self.matcher(query)
        situation = screen.situation
        for command in screen.catalog:
            score = matcher.match(command.title) if command.palette and _offered(command, situation) else 0
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(command.title),
                    partial(screen.do, command),
                    text=command.title,
                    help=_help(screen, command, situation),
                )


def _offered(command: Command, situation: Situation) -> bool:
    """Temporary commands are listed only while they apply, all others always."""
    return command.applies(situation) or command.when is None


def _help(screen: Commanded, command: Command, situation: Situation) -> str:
    reason = _reason(screen, command, situation)
    return f"not now: {reason}" if reason else command.help


def _reason(screen: Commanded, command: Command, situation: Situation) -> str:
    if not command.applies(situation) and not screen.in_line:
        return screen.only_in(command)
    return command.refusal(situation)
