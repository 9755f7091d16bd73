"""How a key finds the command it means here, and what footer and help list."""

from __future__ import annotations

from collections.abc import Sequence

from tui.commands.catalog import CATALOG
from tui.commands.command import EVERYWHERE, LISTS, Command, Situation


def all_keys() -> tuple[str, ...]:
    """Every key that means something somewhere."""
    return tuple(dict.fromkeys(key for command in CATALOG for key in command.keys))


def resolve(key: str, situation: Situation) -> type[Command] | None:
    """The command a key means here, or ``None``."""
    return next((each for each in CATALOG if key in each.keys and each.applies(situation)), None)


def footer(situation: Situation) -> list[tuple[str, str]]:
    """Keys and words for the footer, most important first: what can be done here and now."""
    groups: dict[str, tuple[int, list[str]]] = {}
    for each in CATALOG:
        if not each.footer or each.refusal(situation) or resolve(each.keys[0], situation) is not each:
            continue
        _rank, keys = groups.setdefault(each.footer, (each.rank, []))
        keys.append(each.shown_keys()[0])
    ordered = sorted(groups.items(), key=lambda group: group[1][0])
    return [(_joined(keys), words) for words, (_rank, keys) in ordered]


def _joined(keys: Sequence[str]) -> str:
    if len(keys) > 2 and all(key.isdigit() for key in keys):
        return f"{keys[0]}–{keys[-1]}"
    return " ".join(keys)


def here(situation: Situation) -> list[type[Command]]:
    """Commands that belong to the focused panel more than to the others."""
    return [each for each in CATALOG if each.applies(situation) and each.panels not in (EVERYWHERE, LISTS)]


def everywhere(situation: Situation) -> list[type[Command]]:
    """Commands that mean the same in every panel."""
    return [each for each in CATALOG if each.applies(situation) and each.panels in (EVERYWHERE, LISTS)]
