"""The help page: what every key does here, and why some do nothing just now."""

from __future__ import annotations

from tui.commands.command import Command, Situation
from tui.commands.lookup import everywhere, here
from tui.draw import Row, wrap
from tui.render.feed import GLYPHS, MEANINGS
from tui.render.table import SIGNS
from tui.roles import Roles

_KEYS = 14
_MEANS = {
    "active": "active: it is in the prompt",
    "dropped": "dropped by tiers 1 and 2",
    "rejected": "the gate said no",
    "failed": "the gate gave no answer",
    "manual": "only by hand, or switched off",
}


def help_lines(situation: Situation, width: int, roles: Roles) -> list[Row]:
    """Draws the help for what is focused; everything in it comes from the commands themselves."""
    rows: list[Row] = []
    own = here(situation)
    if own:
        rows.append(Row((f"in {situation.panel}", roles.strong)))
        for command in own:
            rows.extend(_command(command, situation, width, roles))
        rows.append(Row())
    rows.append(Row(("everywhere", roles.strong)))
    for command in everywhere(situation):
        rows.extend(_command(command, situation, width, roles))
    rows.extend(_signs(situation, roles))
    return rows


def _command(command: type[Command], situation: Situation, width: int, roles: Roles) -> list[Row]:
    refusal = command.refusal(situation)
    keys = " ".join(command.shown_keys())
    lead = Row().fit(keys, _KEYS, roles.faint if refusal else roles.accent)
    pieces = [(command.help(), roles.muted if refusal else roles.normal)]
    if refusal:
        pieces.append((f" Not now: {refusal}.", roles.gate))
    lines = wrap(pieces, width, indent=_KEYS, first=_KEYS)
    return [lead.extend(lines[0]), *lines[1:]]


def _signs(situation: Situation, roles: Roles) -> list[Row]:
    """What the signs of the panel mean."""
    if situation.panel == "feed":
        meanings = [(GLYPHS[kind], MEANINGS[kind]) for kind in GLYPHS]
    elif situation.panel == "activation":
        meanings = [(SIGNS[verdict], _MEANS[verdict]) for verdict in SIGNS if verdict in _MEANS]
        meanings.append(("│", "across the gauge: from here the gate is asked, from here it is active"))
    else:
        return []
    lines = [Row().gap(2).fit(sign, 3, roles.strong).add(words, roles.muted) for sign, words in meanings]
    return [Row(), Row(("signs", roles.strong)), *lines]
