"""How a key finds the command it means here, and what footer and help list."""

from __future__ import annotations

from collections.abc import Sequence

from tui.commands.cache import CACHE
from tui.commands.catalog import CATALOG
from tui.commands.command import (
    CACHE_PANELS,
    CONTEXT_PANELS,
    EVERYWHERE,
    HARVEST_PANELS,
    KNOWLEDGE_PANELS,
    LISTS,
    PANELS,
    RECORD_PANELS,
    REVIEW_PANELS,
    SEARCH_PANELS,
    TUNE_PANELS,
    Command,
    PanelName,
    Situation,
)
from tui.commands.common import ANSWERS, AnswerYes
from tui.commands.context import CONTEXT
from tui.commands.harvest import HARVEST
from tui.commands.knowledge import KNOWLEDGE
from tui.commands.ledger import LEDGER
from tui.commands.review import REVIEW
from tui.commands.search import SEARCH
from tui.commands.tune import TUNE

Catalog = tuple[type[Command], ...]
SCREENS: tuple[tuple[tuple[PanelName, ...], Catalog], ...] = (
    (PANELS, CATALOG),
    (TUNE_PANELS, TUNE),
    (SEARCH_PANELS, SEARCH),
    (CONTEXT_PANELS, CONTEXT),
    (CACHE_PANELS, CACHE),
    (REVIEW_PANELS, REVIEW),
    (KNOWLEDGE_PANELS, KNOWLEDGE),
    (RECORD_PANELS, LEDGER),
    (HARVEST_PANELS, HARVEST),
)
"""The panels of each screen, and what can be done there."""
_CATALOG_OF = {panel: catalog for panels, catalog in SCREENS for panel in panels}


def catalog_of(situation: Situation) -> Catalog:
    """The commands of the screen that the situation is one of."""
    return _CATALOG_OF[situation.panel]


def all_keys(catalog: Catalog = CATALOG) -> tuple[str, ...]:
    """Every key that means something somewhere on a screen."""
    return tuple(dict.fromkeys(key for command in catalog for key in command.keys))


def resolve(key: str, situation: Situation) -> type[Command] | None:
    """The command a key means here, or ``None``."""
    found = [each for each in catalog_of(situation) if key in each.keys and each.applies(situation)]
    if found and issubclass(found[0], AnswerYes):
        # Who goes from result to result, or labels one, has not answered a question that came up meanwhile.
        found.sort(key=lambda each: issubclass(each, AnswerYes) or bool(each.refusal(situation)))
    return found[0] if found else None


def answers_by_letter(situation: Situation) -> bool:
    """Whether the letters answer the gate here; else only those with ctrl do."""
    return all(resolve(each.keys[0], situation) is each for each in ANSWERS)


def footer(situation: Situation) -> list[tuple[str, str]]:
    """Keys and words for the footer, most important first: what can be done here and now."""
    groups: dict[str, tuple[int, list[str]]] = {}
    for each in catalog_of(situation):
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
    return [each for each in catalog_of(situation) if each.applies(situation) and not _shared(each)]


def everywhere(situation: Situation) -> list[type[Command]]:
    """Commands that mean the same in every panel."""
    return [each for each in catalog_of(situation) if each.applies(situation) and _shared(each)]


def _shared(command: type[Command]) -> bool:
    return command.panels in (EVERYWHERE, LISTS)
