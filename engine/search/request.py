"""A search request with validated arguments."""

from __future__ import annotations

from datetime import date

from engine.search.results import Category
from engine.search.talk import telling
from engine.search.worth import Room
from engine.startup.records import dataclass

_SAYS_ENOUGH = 3
"""A query with this many distinctive words needs no context to be understood."""
_CONTEXT_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Request:
    """The validated arguments of ``SearchIndex.search``."""

    query: str
    terms: tuple[str, ...]  # at least one
    limit: int
    category: Category | None
    exclude: frozenset[str]
    use_vectors: bool
    today: date
    in_full: bool
    context: str
    room: Room | None  # ``None`` to return all results, best first

    @property
    def meant(self) -> str:
        """The text to embed: the query, followed by the end of its context if the query says little."""
        if not self.context or len(telling(self.terms)) >= _SAYS_ENOUGH:
            return self.query
        return f"{self.query}\n{self.context[-_CONTEXT_CHARACTERS:]}"
