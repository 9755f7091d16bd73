"""A search as it was asked for, with its arguments checked."""

from __future__ import annotations

from datetime import date

from engine.search.results import Category
from engine.search.talk import telling
from engine.search.worth import Room
from engine.startup.records import dataclass

_SAYS_ENOUGH = 3
"""Distinctive words from which a query's meaning needs no context."""
_CONTEXT_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of ``SearchIndex.search``, checked."""

    query: str
    terms: tuple[str, ...]  # at least one
    limit: int
    category: Category | None
    exclude: frozenset[str]
    use_vectors: bool
    today: date
    in_full: bool
    context: str
    room: Room | None  # ``None`` where all are wanted, best first

    @property
    def meant(self) -> str:
        """The text whose meaning is looked for: with the end of its context where it says little."""
        if not self.context or len(telling(self.terms)) >= _SAYS_ENOUGH:
            return self.query
        return f"{self.query}\n{self.context[-_CONTEXT_CHARACTERS:]}"
