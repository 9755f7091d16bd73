"""What the faces of a harvest call things, in words a person would use."""

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
"""What a conversation of a kind is called in a list."""

_KINDS: dict[Kind, str] = {
    "harvest": "to harvest",
    "prune": "harvested before",
    "live": "still being written",
    "user-kept": "kept by you",
    "keep": "left as they are",
}

OUTCOME_WORDS: dict[Outcome, str] = {
    "harvested": "harvested",
    "failed": "not harvested",
    "too-large": "too large",
    "unclear": "not harvested",
    "changed": "changed meanwhile",
    "unharvested": "discarded",
}
"""What became of a conversation."""


def pieces_in_words(survey: Survey) -> list[tuple[Kind, str]]:
    """How many conversations there are of each kind, and their size where it matters."""
    found: list[tuple[Kind, str]] = []
    for kind, words in _KINDS.items():
        number = len(survey.of(kind))
        size = f" ({sizes(survey.size(kind))})" if kind in ("harvest", "prune") else ""
        if number:
            found.append((kind, f"{count(number)} {words}{size}"))
    return found


def classes_in_words(survey: Survey) -> str:
    """``3 to harvest (16.4 KB) · 3 still being written``; empty where there is no conversation."""
    return " · ".join(words for _, words in pieces_in_words(survey))
