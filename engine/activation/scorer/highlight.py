"""Finds the words of a message that are evidence for a topic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.scorer.fitted import (
    PARTS_SHARE,
    Fitted,
    gathered,
    places_in,
    values_of,
)
from engine.activation.scorer.words import code_of, parts_of, places_of, terms_of
from engine.activation.signals import content_words
from engine.activation.similarity import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.scorer.words import Codes
    from engine.activation.trace import Span

    Floats = NDArray[numpy.float32]

LEAST = 0.2
"""Share of the strongest word's weight below which a word is not shown."""


def telling_words(text: str, fitted: Fitted, topics: Sequence[int]) -> list[tuple[Span, ...]]:
    """For each topic index the content words that speak for it, weighted by what they and their parts add to
    its log-odds; in order and not overlapping. A pair of words counts half for each.
    """
    places = places_of(text)
    if not places or not topics:
        return [()] * len(topics)
    terms = terms_of([word for word, _, _ in places])
    adds = _added(terms.words, values_of(terms.words, terms.word_counts, fitted), fitted, topics)
    adds |= _added(
        terms.parts, PARTS_SHARE * values_of(terms.parts, terms.part_counts, fitted), fitted, topics
    )
    nothing = numpy.zeros(len(topics), dtype=numpy.float32)
    of_word: dict[str, Any] = {}
    for word in {word for word, _, _ in places}:
        known = [adds[code] for code in (code_of(word), *parts_of(word).tolist()) if code in adds]
        of_word[word] = sum(known, nothing)
    for (first, _, _), (second, _, _) in pairwise(places):
        pair = adds.get(code_of(f"{first} {second}"))
        if pair is not None:
            of_word[first], of_word[second] = of_word[first] + pair / 2, of_word[second] + pair / 2
    telling = {word for word, _, _ in places if content_words(word)}
    found: list[tuple[Span, ...]] = []
    for index in range(len(topics)):
        parts = [(start, end, float(of_word[word][index])) for word, start, end in places if word in telling]
        least = LEAST * max((weight for *_, weight in parts), default=0.0)
        found.append(spans(_joined([part for part in parts if part[2] > max(0.0, least)])))
    return found


def _added(codes: Codes, values: Floats, fitted: Fitted, topics: Sequence[int]) -> dict[int, Floats]:
    """What each known term adds to the log-odds of some topics, by its code."""
    places, known = places_in(fitted.codes, codes)
    sizes, classes, weights = gathered(places, fitted)
    row = numpy.repeat(numpy.arange(len(places)), sizes)
    table = numpy.zeros((len(places), len(fitted.base)), dtype=numpy.float32)
    table[row, classes] = weights * numpy.repeat(values[known], sizes)
    return dict(zip(codes[known].tolist(), table[:, list(topics)], strict=True))


def _joined(parts: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Parts with overlapping ones merged, as in texts without spaces."""
    joined: list[tuple[int, int, float]] = []
    for start, end, weight in parts:
        if joined and start < joined[-1][1]:
            first, before, strongest = joined[-1]
            joined[-1] = (first, max(before, end), max(strongest, weight))
        else:
            joined.append((start, end, weight))
    return joined
