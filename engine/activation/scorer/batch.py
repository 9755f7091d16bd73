"""Scores many messages at once, and those that are labels by fits that never saw them (spec 5.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy
from scipy import sparse

from engine.activation.scorer.evidence import directness_of, with_hits
from engine.activation.scorer.fitted import MEANING_SHARE, PARTS_SHARE, Fitted, places_in, trigger_code
from engine.activation.scorer.store import fingerprint
from engine.activation.scorer.words import Terms, terms_of, words_of
from engine.activation.signals import content_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.scorer.known import Known
    from engine.activation.scorer.store import FitStore
    from engine.activation.scorer.texts import Embedding, TopicTexts
    from engine.activation.similarity import Hits
    from engine.topics.model import Topic

    Codes = NDArray[numpy.uint32]
    Floats = NDArray[numpy.float32]

FOLDS = 4
"""Number of fits that score the labelled messages, each without the labels of its own."""

_AT_ONCE = 1_000


class CalibratedBatch:
    """Scores messages as ``CalibratedScorer`` does, and remembers what it has read of their texts.

    A message that is a label would be scored by a fit to that very label, which says nothing about others.
    ``prepare`` fits the topics without it; until then such a message has the score of the last such fits, or
    if there are none its own.

    Args:
        known: Returns the state of the scorer.
        fit: Fits texts of topics.
        store: Keeps the scores of labels between processes.
    """

    def __init__(
        self,
        known: Callable[[], Known | None],
        fit: Callable[[Mapping[str, Topic], Sequence[TopicTexts]], Fitted],
        vectors: Embedding,
        store: FitStore | None,
    ) -> None:
        self._known = known
        self._fit = fit
        self._vectors = vectors
        self._store = store
        self._read: dict[str, tuple[Terms, Floats]] = {}
        self._key = ""
        self._names: tuple[str, ...] = ()
        self._held_out: dict[str, Floats] = {}

    def score(
        self, topics: Sequence[str], messages: Sequence[tuple[str, Hits]], *, held_out: bool = True
    ) -> tuple[Floats, bool]:
        """The probability of each topic for each message, ``[messages, topics]``, and whether those of all
        labels are from fits without them.

        Args:
            messages: The texts and hits of messages.
            held_out: If false, labels are scored like the rest.
        """
        known = self._known()
        if known is None or not messages:
            return numpy.zeros((len(messages), len(topics)), dtype=numpy.float32), True
        totals = self._totals(known.fitted, messages)
        labels = labels_in(known.texts)
        if held_out and known.fitted.names == self._names:
            for row, (text, _) in enumerate(messages):
                if text in labels and text in self._held_out:
                    totals[row] = self._held_out[text]
        shares = _shares(totals, messages, known)
        columns = [known.places.get(name, -1) for name in topics]
        found = numpy.where(numpy.array(columns, dtype=numpy.int64) >= 0, shares[:, columns], 0)
        return found.astype(numpy.float32), not labels or self._key == self._key_of(known)

    def prepare(self, messages: Sequence[tuple[str, Hits]]) -> None:
        """Fits the topics ``FOLDS`` times for ``score``, which takes seconds, unless it was done before."""
        known = self._known()
        if known is None or self._key == (key := self._key_of(known)):
            return
        hits = dict(messages)
        labels = sorted(labels_in(known.texts), key=lambda text: hashlib.sha256(_bytes(text)).digest())
        names = known.fitted.names
        store = self._store
        totals = None if store is None else store.load_held_out(key, (len(labels), len(names) + 1))
        if totals is None:
            totals = numpy.zeros((len(labels), len(names) + 1), dtype=numpy.float32)
            for fold in range(min(FOLDS, len(labels))):
                ours = labels[fold::FOLDS]
                fitted = self._fit(known.topics, without(known.texts, ours))
                totals[fold::FOLDS] = self._totals(fitted, [(text, hits.get(text, {})) for text in ours])
            if store is not None:
                store.save_held_out(key, totals)
        self._names, self._held_out, self._key = names, dict(zip(labels, totals, strict=True)), key

    def _key_of(self, known: Known) -> str:
        return fingerprint(known.texts, f"{FOLDS} {self._vectors.version}")

    def _totals(self, fitted: Fitted, messages: Sequence[tuple[str, Hits]]) -> Floats:
        """The log-odds of each class of the fit, up to a constant, ``[messages, classes]``."""
        unread = list(dict.fromkeys(text for text, _ in messages if text not in self._read))
        for text, vector in zip(unread, self._vectors.embed(unread), strict=True):
            self._read[text] = terms_of(words_of(text)), vector
        totals = numpy.zeros((len(messages), len(fitted.base)), dtype=numpy.float32)
        if not fitted.names:
            return totals
        weights = sparse.csr_matrix(
            (fitted.weights, fitted.classes, fitted.offsets), shape=(len(fitted.codes), len(fitted.base))
        )
        for start in range(0, len(messages), _AT_ONCE):
            some = messages[start : start + _AT_ONCE]
            read = [self._read[text] for text, _ in some]
            words = _values([(of.words, of.word_counts) for of, _ in read], fitted)
            parts = _values([(of.parts, of.part_counts) for of, _ in read], fitted) * PARTS_SHARE
            hit = _hits(some, fitted)
            meaning = numpy.stack([vector for _, vector in read]) @ fitted.vectors
            terms = ((words + parts + hit) @ weights).toarray()
            totals[start : start + _AT_ONCE] = fitted.base + MEANING_SHARE * meaning + terms
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


def _values(rows: Sequence[tuple[Codes, Floats]], fitted: Fitted) -> Any:
    """The values of the terms of texts, as in ``fitted.values_of``, as a sparse matrix."""
    codes = numpy.concatenate([codes for codes, _ in rows])
    places, known = places_in(fitted.codes, codes)
    of_row = numpy.repeat(numpy.arange(len(rows)), [len(codes) for codes, _ in rows])[known]
    counts = numpy.concatenate([counts for _, counts in rows])[known]
    values = (1 + numpy.log(counts)) * fitted.idf[places]
    lengths = numpy.sqrt(numpy.bincount(of_row, weights=values**2, minlength=len(rows)))
    values = (values / lengths[of_row]).astype(numpy.float32)
    return sparse.csr_matrix((values, (of_row, places)), shape=(len(rows), len(fitted.codes)))


def _hits(messages: Sequence[tuple[str, Hits]], fitted: Fitted) -> Any:
    """The values of the triggers that fired, as a sparse matrix."""
    fired = [
        (row, trigger_code(name), directness_of(text, hits))
        for row, (text, found) in enumerate(messages)
        for name, hits in found.items()
    ]
    rows, codes, values = (numpy.array([each[of] for each in fired]) for of in range(3))
    places, known = places_in(fitted.codes, codes.astype(numpy.uint32))
    shape = (len(messages), len(fitted.codes))
    return sparse.csr_matrix((values[known], (rows[known], places)), shape=shape, dtype=numpy.float32)


def _shares(totals: Floats, messages: Sequence[tuple[str, Hits]], known: Known) -> Floats:
    """The probabilities of classes; a hit counts by itself, as in ``CalibratedScorer``."""
    totals = totals.astype(numpy.float64)
    for row, (text, hits) in enumerate(messages):
        names = [name for name in hits if name in known.places and name in known.topics]
        before, words = totals[row].copy(), content_words(text) if names else frozenset()
        for name in names:
            place = known.places[name]
            taught = float(known.fitted.taught[place])
            rest = numpy.logaddexp.reduce(numpy.delete(before, place))
            totals[row, place] = with_hits(before[place], rest, known.topics[name], hits[name], words, taught)
    shares = numpy.exp(totals - totals.max(axis=1, keepdims=True))
    found: Floats = (shares / shares.sum(axis=1, keepdims=True)).astype(numpy.float32)
    return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
