"""Finds the words of a message that are evidence for a topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy

from engine.activation.fusion.fitted import Fitted
from engine.activation.fusion.postings import codes_in, gathered, places_in
from engine.activation.fusion.words import places_of
from engine.activation.signals import content_words
from engine.activation.similarity import spans

if TYPE_CHECKING:
    from engine.activation.trace import Span

LEAST = 0.2
"""Share of the strongest word's weight below which a word is not shown."""


def telling_words(text: str, fitted: Fitted, topics: Sequence[int]) -> list[tuple[Span, ...]]:
    """For each topic index the content words that its texts share, in whole or in part, weighted by their
    part in the similarity; in order and not overlapping.
    """
    places = places_of(text)
    telling = {word for word, _, _ in places if content_words(word)}
    places = [place for place in places if place[0] in telling]
    if not places or not topics:
        return [()] * len(topics)
    words = list(dict.fromkeys(word for word, _, _ in places))
    found: list[tuple[Span, ...]] = []
    for weights in _weights(words, fitted, topics):
        weight_of = dict(zip(words, weights, strict=True))
        least = LEAST * max(weights)
        parts = [(start, end, weight_of[word]) for word, start, end in places if weight_of[word] > least]
        found.append(spans(_joined(parts)))
    return found


def _weights(words: Sequence[str], fitted: Fitted, topics: Sequence[int]) -> Iterable[list[float]]:
    """For each topic, the contribution of each word and its parts to the similarity."""
    parts = [codes_in(word) for word in words]
    places, is_known = places_in(fitted.grams, numpy.concatenate(parts))
    owners = numpy.repeat(numpy.arange(len(words)), [len(part) for part in parts])[is_known]
    different, term_of = numpy.unique(places, return_inverse=True)
    sizes, (rows, weights) = gathered(fitted.offsets, different, fitted.rows, fitted.weights)
    terms = numpy.repeat(numpy.arange(len(different)), sizes)
    weights *= fitted.idf[different][terms]
    every = numpy.arange(len(fitted.names))
    # The topic of each entry, and of each topic's own text after them.
    topic_of = numpy.concatenate([numpy.repeat(every, numpy.diff(fitted.starts)), every])[rows]
    order = numpy.argsort(topic_of, kind="stable")
    bounds = numpy.searchsorted(topic_of[order], [(topic, topic + 1) for topic in topics])
    for first, last in bounds.tolist():
        mine = order[first:last]
        by_term = numpy.bincount(terms[mine], weights=weights[mine], minlength=len(different))
        yield numpy.bincount(owners, weights=by_term[term_of], minlength=len(words)).tolist()


def _joined(parts: Sequence[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Parts with overlapping ones merged, as in texts without spaces."""
    joined: list[tuple[int, int, float]] = []
    for start, end, weight in parts:
        if joined and start < joined[-1][1]:
            first, before, strongest = joined[-1]
            joined[-1] = (first, max(before, end), max(strongest, weight))
        else:
            joined.append((start, end, weight))
    return joined
