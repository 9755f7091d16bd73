"""Scores by words: BM25 of the chunks of a table, with the statistics of the whole index (spec 7.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from engine.search.table import Corpus, Floats, Table

K1 = 0.8
B = 0.75
"""BM25 parameters: how quickly repeated words saturate, and how much long chunks are penalized."""

FILE_K1 = 2.0
FILE_B = 0.6
"""The same for files as a whole."""
_MOST_TIMES = 4.0
"""How often a word counts for its file at most, in each of its chunks."""


def scores_of(table: Table, corpus: Corpus, terms: Mapping[int, float]) -> Floats:
    """BM25 of every chunk, float32 ``[N]``. ``terms`` maps term numbers to weights."""
    scores = numpy.zeros(len(table), dtype=numpy.float32)
    # Counts and lengths are in fifths.
    floors = 5 * K1 * (1 - B + B * table.lengths * (corpus.chunks / max(corpus.length, 1)))
    floors = floors.astype(numpy.float32)
    for term, weight in terms.items():
        places, times = table.postings(term)
        if len(places):
            factor = numpy.float32(weight * idf(corpus, term) * (K1 + 1))
            scores[places] += factor * (times / (times + floors[places]))
    return scores


def scores_of_files(table: Table, corpus: Corpus, terms: Sequence[int]) -> Floats:
    """BM25 of every file as one text, of which the chunks of the table are known, relative to the best,
    float32 ``[F]``. ``terms`` are distinct term numbers.
    """
    scores = numpy.zeros(len(table.files), dtype=numpy.float32)
    extents = numpy.array([file.extent for file in table.files])
    floors = FILE_K1 * (1 - FILE_B + FILE_B * extents * (corpus.files / max(corpus.length, 1)))
    for term in terms:
        places, times = table.postings(term)
        if len(places):
            owners = table.owners[places]
            found = numpy.bincount(owners, numpy.minimum(times / 5, _MOST_TIMES), len(scores))
            scores += (idf(corpus, term) * found / (found + floors)).astype(numpy.float32)
    best = scores.max(initial=0.0)
    return scores / best if best else scores


def idf(corpus: Corpus, term: int) -> float:
    """The weight of a term by how few chunks contain it."""
    held = corpus.holders(term)
    return math.log1p((max(corpus.chunks - held, 0) + 0.5) / (held + 0.5))
