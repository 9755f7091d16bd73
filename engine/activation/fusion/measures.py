"""The raw signals of one message against every topic (spec 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.fusion.classifiers import GRAM_SHARE, similarity_of
from engine.activation.fusion.fitted import Embedding, Fitted, mood_of
from engine.activation.fusion.postings import BM25_K1, codes_of, count_grams, gathered, places_in
from engine.activation.fusion.words import SIGNATURE_LENGTH, signature_of, words_of
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

ALL_TOPICS = 400
"""Up to this many topics, all are measured in full; otherwise ``SHORTLIST`` of them, chosen by two quick
signals."""
SHORTLIST = 128

RAW = (
    "vectors_max",
    "vectors_top",
    "vectors_mean",
    "vectors_label",
    "words_max",
    "words_top",
    "words_mean",
    "words_about",
    "bm25",
    "jaccard",
    "minhash",
    "sentiment",
    "classifier",
    "against",
)
"""The columns of ``Measured.values``."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The signals of one message."""

    topics: Any  # int ``[n]``: indices of the measured topics
    values: Floats  # float32 ``[n, len(RAW)]``
    background: float  # mean similarity to the centroids of all topics
    coverage: float  # weighted share of the message's words that are in any topic's text, 0 to 1
    length: int  # number of words in the message
    classified: bool  # whether there are classifiers


def measure(text: str, fitted: Fitted, vectors: Embedding) -> Measured | None:
    """Measures a message with the vectors of the fit; ``None`` without words or topics."""
    words = words_of(text)
    count = len(fitted.names)
    if not words or not count:
        return None
    starts = fitted.starts
    total = int(starts[-1])
    by_row = _gram_similarity(words, fitted, total + count)
    by_entry, by_about = by_row[:total], by_row[total:]
    best_words = numpy.maximum.reduceat(by_entry, starts[:-1])
    bm25, coverage, shared, different = _word_similarity(words, fitted, total, count)
    vector = vectors.embed([text])[0]
    central = _products(fitted.centroids, vector)
    topics = numpy.arange(count)
    if count > ALL_TOPICS:
        topics = numpy.sort(numpy.argpartition(-(central + best_words), SHORTLIST)[:SHORTLIST])
    places, layout = _layout(starts, topics)
    entries: Any = slice(None) if len(topics) == count else places
    near = _products(fitted.entry_vectors[entries], vector)
    by_title = _products(fitted.label_vectors[topics], vector)
    same = fitted.signatures[entries] == signature_of(words)
    alike = numpy.einsum("ij->i", same.view(numpy.uint8))  # the number fits in a byte
    jaccard = shared[entries] / (different + fitted.entry_words[entries] - shared[entries])
    by_vectors, by_words = _table(near, layout), _table(by_entry[entries], layout)
    values = numpy.zeros((len(topics), len(RAW)), dtype=numpy.float32)
    values[:, 0] = by_vectors.max(axis=1)
    values[:, 1] = _top(by_vectors)
    values[:, 2] = central[topics]
    values[:, 3] = by_title
    values[:, 4] = best_words[topics]
    values[:, 5] = _top(by_words)
    values[:, 6] = _mean(by_words)
    values[:, 7] = by_about[topics]
    values[:, 8] = bm25[topics]
    values[:, 9] = _table(jaccard, layout).max(axis=1)
    values[:, 10] = _table(alike / SIGNATURE_LENGTH, layout).max(axis=1)
    values[:, 11] = 1 - numpy.abs(fitted.moods[topics] - mood_of(vector, fitted.mood_axis)) / 2
    classified = fitted.classifiers.size > 0
    if classified:
        all_near = near if len(topics) == count else _products(fitted.entry_vectors, vector)
        all_titles = by_title if len(topics) == count else _products(fitted.label_vectors, vector)
        similarity = numpy.concatenate(
            [similarity_of(all_near) + GRAM_SHARE * by_entry, similarity_of(all_titles)]
        )
        values[:, 12] = numpy.einsum("i,ij->j", similarity, fitted.classifiers)[topics]
    if len(fitted.against_topics):
        against = numpy.zeros(count, dtype=numpy.float32)
        numpy.maximum.at(against, fitted.against_topics, _products(fitted.against_vectors, vector))
        values[:, 13] = against[topics]
    return Measured(topics, values, float(central.mean()), coverage, len(words), classified)


def _gram_similarity(words: Sequence[str], fitted: Fitted, height: int) -> Floats:
    """The cosine of the message with every entry and every topic's own text."""
    _, codes, counts = count_grams([words])
    places, is_known = places_in(fitted.grams, codes)
    weights = (1 + numpy.log(counts[is_known])) * fitted.idf[places]
    weights /= max(float(numpy.sqrt(weights @ weights)), 1e-9)
    sizes, (rows, found) = gathered(fitted.offsets, places, fitted.rows, fitted.weights)
    found *= numpy.repeat(weights, sizes)
    return numpy.bincount(rows, weights=found, minlength=height).astype(numpy.float32)


def _word_similarity(
    words: Sequence[str], fitted: Fitted, total: int, count: int
) -> tuple[Floats, float, Any, int]:
    """BM25 of every topic relative to its maximum; coverage; shared words of each entry; number of distinct
    words.
    """
    different = dict.fromkeys(words)
    places, _ = places_in(fitted.words, codes_of(different, len(different)))
    rare = float(numpy.log(1 + (count + 0.5) / 0.5))
    weight = float(fitted.word_idf[places].sum())
    whole = weight + rare * (len(different) - len(places))
    _, (topics, weights) = gathered(fitted.word_offsets, places, fitted.word_topics, fitted.word_weights)
    sums = numpy.bincount(topics, weights=weights, minlength=count)
    bm25 = (sums / max(whole * (BM25_K1 + 1), 1e-9)).astype(numpy.float32)
    _, (entries,) = gathered(fitted.word_entry_offsets, places, fitted.word_entries)
    shared = numpy.bincount(entries, minlength=total)
    return bm25, weight / max(whole, 1e-9), shared, len(different)


def _products(matrix: Floats, vector: Floats) -> Floats:
    """Each row times the vector, on one core: on a busy machine, waiting for BLAS threads takes longer."""
    found: Floats = numpy.einsum("ij,j->i", matrix, vector)
    return found


def _layout(starts: Any, topics: Any) -> tuple[Any, Any]:
    """The entries of some topics.

    Returns:
        The entries, int ``[m]``, and their indices by topic, int ``[len(topics), max]``, padded with −1.
    """
    sizes = starts[topics + 1] - starts[topics]
    firsts = numpy.cumsum(sizes) - sizes
    entries = numpy.arange(int(sizes.sum())) + numpy.repeat(starts[topics] - firsts, sizes)
    steps = numpy.arange(int(sizes.max()))[None, :]
    return entries, numpy.where(steps < sizes[:, None], firsts[:, None] + steps, -1)


def _table(values: Any, layout: Any) -> Floats:
    """The entries' values by topic, padded with −2."""
    found: Floats = numpy.where(layout >= 0, values.astype(numpy.float32)[layout], numpy.float32(-2.0))
    return found


def _top(values: Floats) -> Floats:
    """The mean of the (up to) three largest values of each row."""
    if values.shape[1] > 3:
        values = -numpy.partition(-values, 2, axis=1)[:, :3]
    return _mean(values)


def _mean(values: Floats) -> Floats:
    there = values > -1.5
    means: Floats = numpy.where(there, values, 0).sum(axis=1) / numpy.maximum(there.sum(axis=1), 1)
    return means.astype(numpy.float32)
