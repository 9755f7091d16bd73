"""The help page: what every key does here, and why some do nothing just now."""

from __future__ import annotations

from tui.commands.command import Command, PanelName, Situation
from tui.commands.lookup import everywhere, here
from tui.draw import Row, wrap
from tui.render.cache_signs import CACHE_SIGNS
from tui.render.context_list import CONTEXT_SIGNS
from tui.render.feed import GLYPHS, MEANINGS
from tui.render.knowledge_signs import KNOWLEDGE_SIGNS
from tui.render.ledger_signs import LEDGER_SIGNS
from tui.render.review_signs import REVIEW_SIGNS
from tui.render.search_signs import SEARCHING
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

_TUNING: dict[PanelName, list[tuple[str, str]]] = {
    "topics": [
        ("◂▸", "a cut of this topic is moved and not applied"),
        (".99", "dimmed: fewer than 20 labels, so the figures say little"),
        ("–", "nothing to judge: no labels, or nothing would be active"),
    ],
    "scores": [
        ("┃", "the cut that the keys move; │ the other one; ┊ where a moved one stands today"),
        ("█", "above the axis what was useful, below it noise, by score"),
        ("━", "both at the same score: no cut keeps these apart"),
        ("√", "bars are as tall as the square root of their number, because a few tower above the others"),
    ],
    "decisions": [
        ("+", "fixed: decided wrongly with today's cuts, rightly with the moved ones"),
        ("−", "lost: the reverse"),
        ("~", "changed: nobody has said what is right, or it comes out the same"),
        ("?", "nobody has said whether the topic was useful"),
    ],
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
    rows.extend(_signs(situation, width, roles))
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


def _signs(situation: Situation, width: int, roles: Roles) -> list[Row]:
    """What the signs of the panel mean."""
    if situation.panel == "feed":
        meanings = [(GLYPHS[kind], MEANINGS[kind]) for kind in GLYPHS]
    elif situation.panel == "activation":
        meanings = [(SIGNS[verdict], _MEANS[verdict]) for verdict in SIGNS if verdict in _MEANS]
        meanings.append(("│", "across the gauge: from here the gate is asked, from here it is active"))
    elif situation.panel in _TUNING:
        meanings = _TUNING[situation.panel]
    elif situation.panel in CONTEXT_SIGNS:
        meanings = CONTEXT_SIGNS[situation.panel]
    elif situation.panel in CACHE_SIGNS:
        meanings = CACHE_SIGNS[situation.panel]
    elif situation.panel in LEDGER_SIGNS:
        meanings = LEDGER_SIGNS[situation.panel]
    elif situation.panel in KNOWLEDGE_SIGNS:
        meanings = KNOWLEDGE_SIGNS[situation.panel]
    elif situation.panel in REVIEW_SIGNS:
        meanings = REVIEW_SIGNS[situation.panel]
    elif situation.panel in SEARCHING:
        meanings = SEARCHING[situation.panel]
    else:
        return []
    lines: list[Row] = []
    for sign, words in meanings:
        first, *rest = wrap([(words, roles.muted)], width, indent=5, first=5)
        lines.extend((Row().gap(2).fit(sign, 3, roles.strong).extend(first), *rest))
    return [Row(), Row(("signs", roles.strong)), *lines]
