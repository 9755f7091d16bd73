"""How surely a chunk has to do with a query, on a scale that is the same for every query and every memory.

A score orders the chunks of one query and says nothing of whether any of them answers it: something is always
the best. Relevance is the mean of two measures that do: the share of what the query asks for that stands in
the chunk (its words by their rarity, whatever else is in the memory), and the similarity of the vectors. Of
questions put to their own memory and to another one, the area under the curve is .94 for chats of people, .90
for long chats with an assistant and .98 for coding sessions. It spreads differently in each, so a floor that
seldom loses an answer still lets in much that answers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from engine.search.resident.segment import Floats, Part

PRIOR = 100
"""Chunks without any of the words, added to the memory: how rare a word is cannot be told from few."""
ALONE = 0.4
"""What a similarity counts where no word is shared. Half would let in what merely looks like words."""
CONTEXT_TERMS = 12
"""Words of the context that count, the rarest."""
CONTEXT = 0.25
"""What they count together, of what the words of the query do; more where the query says little by itself."""
SAID_ENOUGH = 2.0
"""How much a query has to say so that its context is not needed, in rarest words."""


class Rarity:
    """How much a word says, by how few chunks hold it."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        alive = (len(part.segment) if part.alive is None else int(part.alive.sum()) for part in parts)
        self._count = PRIOR + sum(alive)
        self._rarest = math.log1p((self._count - 0.5) / 1.5)

    def holders(self, term: int) -> int:
        """How many chunks hold a word."""
        return sum(part.holders(term) for part in self._parts)

    def of(self, term: int) -> float:
        """From 0, a word of every chunk, to 1, a word of one chunk or none."""
        held = self.holders(term)
        return min(1.0, math.log1p((self._count - held + 0.5) / (held + 0.5)) / self._rarest)


def weighed(parts: Sequence[Part], terms: Sequence[int], context: Sequence[int]) -> dict[int, float]:
    """The words of a query's context that count, with their weights; those of the query itself have 1.

    Words are numbers, each once.
    """
    if not context:
        return {}
    rarity = Rarity(parts)
    own = frozenset(terms)
    known = [(rarity.of(term), term) for term in context if term not in own and rarity.holders(term)]
    chosen = sorted(known, key=lambda each: -each[0])[:CONTEXT_TERMS]
    said, more = sum(map(rarity.of, terms)), sum(value for value, _ in chosen)
    weight = min(1.0, max(CONTEXT * said, SAID_ENOUGH - said) / more) if more else 0.0
    return {term: weight for _, term in chosen}


def shares(parts: Sequence[Part], terms: Mapping[int, float], places: Sequence[Any]) -> list[Floats]:
    """Which share of a query's words, weighed by their rarity, some chunks hold; float32, for each part.

    For each part, ``places`` are those of the chunks, ascending; ``terms`` gives the words their weights.
    """
    rarity = Rarity(parts)
    held = [numpy.zeros(len(each), dtype=numpy.float32) for each in places]
    total = 0.0
    for term, given in terms.items():
        weight = given * rarity.of(term)
        total += weight
        for part, there, sums in zip(parts, places, held, strict=True):
            first, last = part.span(term)
            if first < last and len(there):
                holders = part.segment.postings[first:last]
                at = numpy.searchsorted(holders, there)
                sums += numpy.float32(weight) * (holders.take(at, mode="clip") == there)
    # A query of common words alone asks for less than one rare word does.
    return [sums / numpy.float32(max(total, 1.0)) for sums in held]


def relevance(held: Floats, cosines: Floats | None) -> Any:
    """The relevance of chunks, 0 to 1, by what share of the words they hold and how like the vectors are."""
    if cosines is None:
        return held
    similarity = numpy.maximum(cosines, 0.0)
    return numpy.where(held > 0, (held + similarity) / 2, ALONE * similarity)
