"""Estimates how certainly a chunk is related to a query, on the same scale for every query and memory.

A score ranks the chunks of one query but does not say whether any of them answers it, since there is always
a best one. Relevance is the mean of two measures that do: the share of the query's words that are in the
chunk, weighted by their rarity whatever else is in the memory, and the similarity of the vectors. For
questions asked of their own memory and of another one, the area under the curve is .94 for chats between
people, .90 for long chats with an assistant and .98 for coding sessions. Its distribution differs between
them, so a threshold that rarely loses an answer still admits many chunks that answer nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from engine.search.table import Corpus, Floats, Table

PRIOR = 100
"""Virtual chunks without any of the words, because rarity cannot be estimated from a few chunks."""
ALONE = 0.4
"""Weight of the similarity if no word is shared. At .5, text that only resembles words would be admitted."""
CONTEXT_TERMS = 12
"""Number of words from the context that count, the rarest."""
CONTEXT = 0.25
"""Their total weight relative to the query's words; more if the query says little."""
SAID_ENOUGH = 2.0
"""A query with this total rarity needs no context; the rarest word counts 1."""


class Rarity:
    """The rarity of words, by how few chunks contain them."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._count = PRIOR + corpus.chunks
        self._rarest = math.log1p((self._count - 0.5) / 1.5)

    def of(self, term: int) -> float:
        """From 0, for a word in every chunk, to 1, for a word in at most one chunk."""
        held = self._corpus.holders(term)
        return min(1.0, math.log1p((self._count - held + 0.5) / (held + 0.5)) / self._rarest)


def context_weights(corpus: Corpus, terms: Sequence[int], context: Sequence[int]) -> dict[int, float]:
    """The words from the context that count, with their weights; the query's own words have weight 1.

    Words are distinct term numbers.
    """
    rarity = Rarity(corpus)
    own = frozenset(terms)
    known = [(rarity.of(term), term) for term in context if term not in own and corpus.holders(term)]
    chosen = sorted(known, key=lambda each: -each[0])[:CONTEXT_TERMS]
    own_total, added = sum(map(rarity.of, terms)), sum(value for value, _ in chosen)
    weight = min(1.0, max(CONTEXT * own_total, SAID_ENOUGH - own_total) / added) if added else 0.0
    return {term: weight for _, term in chosen}


def shares(table: Table, corpus: Corpus, terms: Mapping[int, float]) -> Floats:
    """The share of a query's words, weighted by rarity, that each chunk contains, float32 ``[N]``.

    ``terms`` maps the words to their weights.
    """
    rarity = Rarity(corpus)
    held = numpy.zeros(len(table), dtype=numpy.float32)
    total = 0.0
    for term, given in terms.items():
        weight = given * rarity.of(term)
        total += weight
        held[table.postings(term)[0]] += numpy.float32(weight)
    # A query of common words alone counts as having at least one rare word.
    return held / numpy.float32(max(total, 1.0))


def relevance(held: Floats, cosines: Floats | None) -> Any:
    """The relevance of chunks, 0 to 1, from the share of words they contain and their similarity."""
    if cosines is None:
        return held
    similarity = numpy.maximum(cosines, 0.0)
    return numpy.where(held > 0, (held + similarity) / 2, ALONE * similarity)
