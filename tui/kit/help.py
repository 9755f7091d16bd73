"""The help page: what each key does here, and why some are unavailable."""

from __future__ import annotations

from collections.abc import Sequence

from tui.kit.command import Catalog, Command, Scope, Situation
from tui.render.draw import Row, joined_within, wrap
from tui.render.roles import Roles

_KEYS = 14
Signs = Sequence[tuple[str, str]]
"""Signs a panel draws, with their meanings."""


def help_lines(catalog: Catalog, situation: Situation, signs: Signs, width: int, roles: Roles) -> list[Row]:
    """Draws the help for the focused panel, generated from the commands."""
    titles: dict[Scope, str] = {
        "panel": f"in {situation.panel}",
        "screen": "on this screen",
        "everywhere": "everywhere",
    }
    rows: list[Row] = []
    for scope, title in titles.items():
        commands = catalog.scoped(scope, situation)
        if commands:
            rows += [Row()] if rows else []
            rows.append(Row((title, roles.strong)))
            rows += [row for each in commands for row in _command(each, situation, width, roles)]
    return [*rows, *_signs(signs, width, roles)]


def _command(command: Command, situation: Situation, width: int, roles: Roles) -> list[Row]:
    refusal = command.refusal(situation)
    keys = joined_within(command.shown_keys, _KEYS - 1, between=" ")
    lead = Row().fit(keys, _KEYS, roles.faint if refusal else roles.accent)
    pieces = [(command.help, roles.muted if refusal else roles.normal)]
    if refusal:
        pieces.append((f" Not now: {refusal}.", roles.gate))
    lines = wrap(pieces, width, indent=_KEYS, first=_KEYS)
    return [lead.extend(lines[0]), *lines[1:]]


def _signs(signs: Signs, width: int, roles: Roles) -> list[Row]:
    lines: list[Row] = []
    for sign, words in signs:
        first, *rest = wrap([(words, roles.muted)], width, indent=5, first=5)
        lines.extend((Row().gap(2).fit(sign, 3, roles.strong).extend(first), *rest))
    return [Row(), Row(("signs", roles.strong)), *lines] if lines else []
