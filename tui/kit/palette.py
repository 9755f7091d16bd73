"""The palette's list: the same commands as keys and help."""

from __future__ import annotations

from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tui.kit.command import Command, Situation
from tui.kit.commands import Commanded


class CommandPalette(Provider):
    """Every action a person may search for, with its key, and the reason where it cannot be done now."""

    async def discover(self) -> Hits:
        """All of them, in the order of the help."""
        screen = self.screen
        if isinstance(screen, Commanded):
            situation = screen.situation
            offered = [each for each in screen.catalog if each.palette and _offered(each, situation)]
            for command in sorted(offered, key=lambda each: _reason(screen, each, situation) != ""):
                text = f"{command.title}  ({command.shown_keys[0]})"
                help_text = _help(screen, command, situation)
                yield DiscoveryHit(Content(text), partial(screen.do, command), text=text, help=help_text)

    async def search(self, query: str) -> Hits:
        """Those whose title is like what was typed."""
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
    """What answers or discards is offered only while it can; everything else always, with its reason."""
    return command.applies(situation) or command.when is None


def _help(screen: Commanded, command: Command, situation: Situation) -> str:
    reason = _reason(screen, command, situation)
    return f"not now: {reason}" if reason else command.help


def _reason(screen: Commanded, command: Command, situation: Situation) -> str:
    """Why it cannot be done now; empty when it can."""
    if not command.applies(situation) and not screen.in_line:
        return "it belongs to another panel: " + ", ".join(sorted(command.panels))
    return command.refusal(situation)
