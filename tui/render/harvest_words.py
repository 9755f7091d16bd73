"""Labels for harvests, shared by command line and workbench."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.render.figures import count, sizes

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Kind
    from engine.knowledge.harvest.report import Outcome, Survey

KIND_WORDS: dict[Kind, str] = {
    "harvest": "harvest",
    "prune": "done",
    "live": "live",
    "user-kept": "yours",
    "keep": "kept",
}
"""Labels of conversation kinds in lists."""

_KINDS: dict[Kind, str] = {
    "harvest": "to harvest",
    "prune": "already harvested",
    "live": "still being written",
    "user-kept": "kept by you",
    "keep": "skipped",
}

OUTCOME_WORDS: dict[Outcome, str] = {
    "harvested": "harvested",
    "failed": "not harvested",
    "too-large": "too large",
    "unclear": "not harvested",
    "changed": "changed in the meantime",
    "unharvested": "discarded",
}


def pieces_in_words(survey: Survey) -> list[tuple[Kind, str]]:
    """The number of conversations of each kind, with the size if relevant."""
    found: list[tuple[Kind, str]] = []
    for kind, words in _KINDS.items():
        number = len(survey.of(kind))
        size = f" ({sizes(survey.size(kind))})" if kind in ("harvest", "prune") else ""
        if number:
            found.append((kind, f"{count(number)} {words}{size}"))
    return found


def classes_in_words(survey: Survey) -> str:
    """``3 to harvest (16.4 KB) · 3 still being written``; empty if there are none."""
    return " · ".join(words for _, words in pieces_in_words(survey))
