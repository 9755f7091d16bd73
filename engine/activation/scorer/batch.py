"""Scores many messages at once, and those that are labels by fits that never saw them (spec 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy

from engine.activation.decisions import hash_of
from engine.activation.scorer.fitted import (
    Fitted,
    Known,
    fired_by,
    logits_of,
    parts_of_message,
)
from engine.activation.scorer.words import Terms, terms_of, words_of
from engine.activation.signals import probability_of
from engine.activation.similarity import Batch

if TYPE_CHECKING:
    from engine.activation.scorer.texts import TopicTexts
    from engine.activation.scorer.words import Floats
    from engine.activation.similarity import Hits
    from engine.meaning.vectors import TokenVectors
    from engine.topics.model import Topic

FOLDS = 4
"""Number of fits that score the labelled messages, each without the labels of its own."""


class CalibratedBatch(Batch):
    """Scores messages as ``CalibratedScorer`` does, and remembers what it has read of their texts.

    A message that is a label would be scored by a fit to that very label, which says nothing about others.
    ``prepare`` fits the topics without it; until then such a message has the score of the last such fits, or
    if there are none its own.

    Args:
        known: Returns the state of the scorer.
        fit: Fits texts of topics.
    """

    def __init__(
        self,
        known: Callable[[], Known],
        fit: Callable[[Mapping[str, Topic], Sequence[TopicTexts]], Fitted],
        vectors: TokenVectors,
    ) -> None:
        self._known = known
        self._fit = fit
        self._vectors = vectors
        self._read: dict[str, tuple[Terms, Floats]] = {}
        self._texts: tuple[TopicTexts, ...] = ()
        self._names: tuple[str, ...] = ()
        self._held_out: dict[str, Floats] = {}

    def score(self, topics: Sequence[str], messages: Sequence[tuple[str, Hits]]) -> tuple[Floats, bool]:
        """The probability of each topic for each message, ``[messages, topics]``, and whether those of all
        labels are from fits without them.
        """
        known = self._known()
        found = numpy.zeros((len(messages), len(topics)), dtype=numpy.float32)
        labels = labels_in(known.texts)
        kept = self._held_out if known.fitted.names == self._names else {}
        totals = self._totals(known.fitted, messages)
        for row, (text, hits) in enumerate(messages):
            total = kept.get(text, totals[row]) if text in labels else totals[row]
            logits = dict(zip(known.topics, logits_of(total, text, hits, known)[0].tolist(), strict=True))
            found[row] = [probability_of(logits[name]) if name in logits else 0.0 for name in topics]
        return found, not labels or self._texts == known.texts

    def prepare(self, messages: Sequence[tuple[str, Hits]]) -> None:
        """Fits the topics ``FOLDS`` times for ``score``, which takes seconds, unless it was done before."""
        known = self._known()
        if known.texts == self._texts:
            return
        hits = dict(messages)
        labels = sorted(labels_in(known.texts), key=hash_of)
        names = known.fitted.names
        totals = numpy.zeros((len(labels), len(names) + 1), dtype=numpy.float32)
        for fold in range(min(FOLDS, len(labels))):
            ours = labels[fold::FOLDS]
            fitted = self._fit(known.topics, without(known.texts, ours))
            totals[fold::FOLDS] = self._totals(fitted, [(text, hits.get(text, {})) for text in ours])
        self._names, self._held_out, self._texts = names, dict(zip(labels, totals, strict=True)), known.texts

    def _totals(self, fitted: Fitted, messages: Sequence[tuple[str, Hits]]) -> Floats:
        """The log-odds of each class of the fit, up to a constant, ``[messages, classes]``."""
        totals = numpy.zeros((len(messages), len(fitted.base)), dtype=numpy.float32)
        if fitted.names:
            unread = list(dict.fromkeys(text for text, _ in messages if text not in self._read))
            for text, vector in zip(unread, self._vectors.embed(unread), strict=True):
                self._read[text] = terms_of(words_of(text)), vector
            for row, (text, hits) in enumerate(messages):
                totals[row] = parts_of_message(*self._read[text], fired_by(text, hits), fitted).total
        return totals


def labels_in(topics: Iterable[TopicTexts]) -> set[str]:
    """The messages that were labelled for any topic."""
    return {text for topic in topics for text in (*topic.useful, *topic.noise)}


def without(topics: Sequence[TopicTexts], messages: Iterable[str]) -> tuple[TopicTexts, ...]:
    """The texts of topics, without some messages."""
    left_out = set(messages)

    def kept(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for text in texts if text not in left_out)

    return tuple(
        replace(each, examples=kept(each.examples), useful=kept(each.useful), noise=kept(each.noise))
        for each in topics
    )
