"""Fits the regression with scikit-learn. Imports it, which takes a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from engine.activation.scorer.fitted import AGAINST, MEANING_SHARE, PARTS_SHARE, Fitted, trigger_code
from engine.activation.scorer.texts import REFUSED, TopicTexts, refused_in, rows_of
from engine.activation.scorer.words import Terms, terms_of, words_of

if TYPE_CHECKING:
    from engine.activation.scorer.fitted import Integers
    from engine.activation.scorer.words import Codes, Floats
    from engine.meaning.vectors import TokenVectors

C = 8.0
"""Inverse of the regularisation."""
RANK = 512
"""Maximum number of directions in which texts differ that are told apart."""
ITERATIONS = 200
TOLERANCE = 1e-5
"""A looser one differs by a tenth of log-odds between processors."""

_SMALLEST = 0.01
"""Weights below it are dropped: there are a weight for each term and topic, nearly all of them tiny."""
_LEAST_SHARE = 0.05
"""Probability from which a class takes part of a message that was labelled as noise for another."""
_TERMS_AT_ONCE = 4_096


def fit(
    topics: Sequence[TopicTexts],
    vectors: TokenVectors,
    fired: Callable[[str], Mapping[str, float]] = lambda _text: {},
) -> Fitted:
    """Fits topics, in their given order.

    A message that a person labelled as noise for some topics speaks for whatever else a first fit finds it to
    be, in proportion.

    Args:
        fired: Returns the topics whose triggers fire on a text, with ``directness_of`` their hits.
    """
    rows, refused = rows_of(topics), refused_in(topics)
    texts = [*(row.text for row in rows), *refused]
    terms, idf, table = _table(texts, topics, fired)
    meaning = MEANING_SHARE * vectors.embed(texts)
    directions, back = _directions(meaning, table)
    aims = numpy.array([len(topics) if row.topic is None else row.topic for row in rows], dtype=numpy.int64)
    weights = numpy.array([row.weight for row in rows])
    places = numpy.arange(len(rows))
    model = _regression(directions, places, aims, weights)
    if refused:
        guessed = model.predict_proba(directions[len(rows) :])
        for place, (share, denied) in enumerate(zip(guessed, refused.values(), strict=True), len(rows)):
            left = share.copy()
            left[list(denied)] = 0.0
            left = left / left.sum() if left.sum() > 0 else numpy.eye(len(left))[-1]
            left = numpy.where(left >= _LEAST_SHARE, left, 0.0)
            taken = numpy.flatnonzero(left)
            places = numpy.append(places, numpy.full(len(taken), place))
            aims = numpy.append(aims, taken)
            weights = numpy.append(weights, REFUSED * left[taken] / left.sum())
        model = _regression(directions, places, aims, weights)
    coefficients, base = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # scikit-learn keeps one row for two classes
        coefficients, base = numpy.vstack([-coefficients, coefficients]) / 2, numpy.append(-base, base) / 2
    per_row = back @ coefficients.T
    offsets, classes, kept = _weights(table, per_row)
    taught = [len({*topic.examples, *topic.useful}) + AGAINST * len(topic.noise) for topic in topics]
    return Fitted(
        names=tuple(topic.name for topic in topics),
        codes=terms,
        idf=idf,
        offsets=offsets,
        classes=classes,
        weights=kept,
        vectors=(meaning.T @ per_row).astype(numpy.float32),
        base=base.astype(numpy.float32),
        taught=numpy.array(taught, dtype=numpy.float32),
    )


def _table(
    texts: Sequence[str],
    topics: Sequence[TopicTexts],
    fired: Callable[[str], Mapping[str, float]],
) -> tuple[Codes, Floats, Any]:
    """The terms of texts, sorted, with their inverse document frequencies; and the texts as rows of a sparse
    matrix of the values of their terms.
    """
    known = {topic.name for topic in topics}
    found: list[tuple[int, Codes, Floats, int]] = []  # row, codes, counts, block
    for row, text in enumerate(texts):
        terms = _terms_of(text)
        found.append((row, terms.words, terms.word_counts, 0))
        found.append((row, terms.parts, terms.part_counts, 1))
        names = {name: of for name, of in fired(text).items() if name in known}
        codes = numpy.array([*map(trigger_code, names)], dtype=numpy.uint32)
        found.append((row, codes, numpy.array([*names.values()], dtype=numpy.float32), 2))
    sizes = [len(codes) for _, codes, _, _ in found]
    rows = numpy.repeat([row for row, *_ in found], sizes)
    block = numpy.repeat([of for *_, of in found], sizes)
    codes, places = numpy.unique(numpy.concatenate([of for _, of, _, _ in found]), return_inverse=True)
    counts = numpy.concatenate([of for _, _, of, _ in found])
    frequency = numpy.bincount(places, minlength=len(codes))
    idf = (numpy.log((1 + len(texts)) / (1 + frequency)) + 1).astype(numpy.float32)
    values = numpy.where(block == 2, counts, (1 + numpy.log(counts)) * idf[places])
    lengths = numpy.sqrt(numpy.bincount(3 * rows + block, weights=values**2, minlength=3 * len(texts)))
    values = numpy.where(block == 2, counts, values / numpy.maximum(lengths, 1e-9)[3 * rows + block])
    values = numpy.where(block == 1, PARTS_SHARE * values, values).astype(numpy.float32)
    table = sparse.csr_matrix((values, (rows, places)), shape=(len(texts), len(codes)), dtype=numpy.float32)
    return codes, idf, table


@lru_cache(maxsize=8_192)
def _terms_of(text: str) -> Terms:
    """The terms of a text; a fit has nearly all its texts from the one before."""
    return terms_of(words_of(text))


def _directions(meaning: Floats, table: Any) -> tuple[Floats, Floats]:
    """Texts in the directions in which they differ, ``[n, r]``, and what leads from there back to the table:
    the weight of a column is the sum over its rows of their values times ``back`` times the coefficients.
    """
    alike = meaning @ meaning.T + (table @ table.T).toarray()
    if len(alike) <= 2 * RANK:  # exact, and faster than drawing as many directions at random
        sizes, axes = numpy.linalg.eigh(alike)
        sizes, axes = sizes[: -RANK - 1 : -1], axes[:, : -RANK - 1 : -1]
    else:
        axes, sizes, _ = randomized_svd(alike, RANK, random_state=0)
    kept = sizes > 1e-6 * sizes[0]
    axes, lengths = axes[:, kept], numpy.sqrt(sizes[kept])
    return axes * lengths, axes / lengths


def _regression(directions: Floats, places: Integers, aims: Integers, weights: Any) -> Any:
    model = LogisticRegression(C=C, max_iter=ITERATIONS, tol=TOLERANCE)
    return model.fit(directions[places], aims, sample_weight=weights)


def _weights(table: Any, per_row: Any) -> tuple[Integers, Integers, Floats]:
    """``offsets``, ``classes`` and ``weights`` of ``Fitted``, without the smallest."""
    columns = table.tocsc()
    sizes, classes, weights = [numpy.zeros(1, dtype=numpy.int64)], [], []
    for start in range(0, columns.shape[1], _TERMS_AT_ONCE):
        some = columns[:, start : start + _TERMS_AT_ONCE].T @ per_row
        kept = numpy.abs(some) >= _SMALLEST
        sizes.append(kept.sum(axis=1))
        classes.append(numpy.nonzero(kept)[1])
        weights.append(some[kept])
    return (
        numpy.cumsum(numpy.concatenate(sizes)).astype(numpy.int32),
        numpy.concatenate(classes).astype(numpy.int32),
        numpy.concatenate(weights).astype(numpy.float32),
    )
