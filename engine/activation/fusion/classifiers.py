"""The similarity of topics' entries to one another, and classifiers trained on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from engine.startup.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Integers = NDArray[Any]

CLASSIFIED_ENTRIES = 4_096
"""Maximum number of entries and titles to train classifiers: the time grows with its cube."""
RIDGE = 0.2
"""Regularisation of the classifiers, in units of one entry's similarity to itself."""
SHARPNESS = 3.0
"""How fast similarity falls with the distance of vectors, so that distant texts have nearly no effect; the
plain cosine of unrelated texts is well above 0."""
GRAM_SHARE = 0.2
"""Weight of n-grams in similarity relative to vectors."""

_RIVALS = 10
"""Number of the highest-scoring entries of other topics."""
_BORROWED = 5
"""Number of average entries mixed into a topic's own level, since few examples say little."""

_SMALL_TRIANGLE = 128
_COMMON = 64
"""Number of entries from which an n-gram is compared as a matrix column; rarer ones are compared pairwise."""
_COLUMNS = 2_000
_PAIRS = 1_000_000
"""Columns and pairs compared at once, to bound the memory."""


def own_similarity(starts: Integers, index: Mapping[str, Any], vectors: Floats) -> tuple[Floats, Floats]:
    """The similarity of each topic's own entries.

    Args:
        starts: int32 ``[T + 1]``: the first entry of each topic.
        index: The n-grams of the entries from ``index_grams``.
        vectors: float32 ``[N, D]``: the entries' vectors.

    Returns:
        ``own_vectors`` and ``own_grams`` of ``Fitted``.
    """
    total, count = int(starts[-1]), len(starts) - 1
    own_vectors = numpy.full(count, -1.0, dtype=numpy.float32)
    own_grams = numpy.full(count, -1.0, dtype=numpy.float32)
    gram_of = _owners(index["offsets"])
    order = numpy.argsort(index["rows"], kind="stable")
    rows, columns, weights = index["rows"][order], gram_of[order], index["weights"][order]
    bounds = numpy.searchsorted(rows, numpy.arange(total + 1))
    for topic in range(count):
        first, last = int(starts[topic]), int(starts[topic + 1])
        if last - first < 2:
            continue
        mine = slice(int(bounds[first]), int(bounds[last]))
        matrix = _matrix(columns[mine], rows[mine] - first, weights[mine], last - first)
        own_vectors[topic] = _mean_of_nearest(vectors[first:last] @ vectors[first:last].T)
        own_grams[topic] = _mean_of_nearest(matrix @ matrix.T)
    return own_vectors, own_grams


@dataclass(frozen=True, slots=True)
class Classifiers:
    """A classifier per topic, and its values for held-out entries.

    ``N`` entries, ``T`` topics. All arrays are empty with too many entries or too few topics.
    """

    weights: Floats
    """float32 ``[N + T, T]``: weight of the similarity to each entry and each title in each topic's
    classifier."""
    own: Floats
    """float32 ``[T]``: mean value of the topic's own held-out entries, mixed with the mean of all topics if
    there are few; 0 if no topic has examples."""
    rivals: Floats  # float32 ``[T]``: mean value of the highest entries of other topics
    spread: Floats  # float32 ``[1]``: standard deviation of held-out entries for their own topics


def similarity_of(cosines: Floats) -> Floats:
    """Similarity by vectors, 0 to 1, from their cosines; any shape."""
    found: Floats = numpy.exp(SHARPNESS * (cosines - 1))
    return found


def train_classifiers(
    starts: Integers, index: Mapping[str, Any], vectors: Floats, labels: Floats, has_examples: Any
) -> Classifiers:
    """A regularised least-squares classifier per topic, over the similarity to each entry and each title.

    Its target is 1 for the entries of its topic and −1/T for others. Values of held-out entries follow from
    the same matrix without training again.

    Args:
        labels: float32 ``[T, D]``: the titles' vectors. A title counts as another entry, without n-grams.
        has_examples: bool ``[T]``: if false, the topic's only entry is its title.
    """
    total, count = int(starts[-1]), len(starts) - 1
    titled = numpy.flatnonzero(has_examples)
    size = total + len(titled)
    if size > CLASSIFIED_ENTRIES or count < 2:
        none = numpy.zeros(0, dtype=numpy.float32)
        return Classifiers(none.reshape(0, 0), none, none, none)
    every = numpy.concatenate([vectors, labels[titled]])
    similarity = similarity_of(every @ every.T)
    _add_grams(similarity, index, total)
    similarity[numpy.diag_indices(size)] += RIDGE
    owners = numpy.concatenate([_owners(starts), titled])
    aims = numpy.full((size, count), -1.0 / count, dtype=numpy.float32)
    aims[numpy.arange(size), owners] = 1.0
    root = _inverse_of_triangle(numpy.linalg.cholesky(similarity))
    solved = root.T @ (root @ aims)
    diagonal = numpy.einsum("ij,ij->j", root, root)  # of the inverse of the similarity
    unseen = (aims - solved / diagonal[:, None])[:total]
    weights = numpy.zeros((total + count, count), dtype=numpy.float32)
    weights[:total] = solved[:total]
    weights[total + titled] = solved[total:]
    return Classifiers(weights, *_unseen(unseen, owners[:total], has_examples[owners[:total]]))


def _inverse_of_triangle(lower: Floats) -> Floats:
    """The inverse of a lower triangular matrix, computed by halves.

    Together with a Cholesky decomposition this takes a third of the time of a full inversion.
    """
    size = len(lower)
    if size <= _SMALL_TRIANGLE:
        small: Floats = numpy.tril(numpy.linalg.inv(lower))
        return small
    half = size // 2
    found = numpy.zeros_like(lower)
    found[:half, :half] = first = _inverse_of_triangle(lower[:half, :half])
    found[half:, half:] = second = _inverse_of_triangle(lower[half:, half:])
    found[half:, :half] = -(second @ (lower[half:, :half] @ first))
    return found


def _unseen(values: Floats, owners: Integers, is_example: Any) -> tuple[Floats, Floats, Floats]:
    """``own``, ``rivals`` and ``spread`` of ``Classifiers``, from held-out values ``[N, T]``."""
    count = values.shape[1]
    places = numpy.arange(len(values))
    given = values[places, owners]
    mine, of = given[is_example], owners[is_example]
    middle = float(mine.mean()) if len(mine) else 0.0
    sums, sizes = numpy.bincount(of, weights=mine, minlength=count), numpy.bincount(of, minlength=count)
    own = (sums + _BORROWED * middle) / (sizes + _BORROWED)
    others = values.copy()
    others[places, owners] = -1.0
    most = max(1, min(_RIVALS, len(others) // 2))
    rivals = -numpy.partition(-others, most - 1, axis=0)[:most].mean(axis=0)
    spread = float(mine.std()) if len(mine) else 0.0
    return own.astype(numpy.float32), rivals.astype(numpy.float32), numpy.array([spread], dtype=numpy.float32)


def _add_grams(similarity: Floats, index: Mapping[str, Any], total: int) -> None:
    """Adds the cosines of the entries' n-grams to the first rows and columns of a matrix."""
    mine = index["rows"] < total
    rows = index["rows"][mine].astype(numpy.int64)
    weights = index["weights"][mine] * numpy.float32(GRAM_SHARE**0.5)
    columns = _owners(index["offsets"])[mine]
    sizes = numpy.bincount(columns, minlength=len(index["grams"]))
    firsts = numpy.cumsum(sizes) - sizes
    common = numpy.flatnonzero(sizes >= _COMMON)
    for start in range(0, len(common), _COLUMNS):
        here = numpy.isin(columns, common[start : start + _COLUMNS])
        matrix = _matrix(columns[here], rows[here], weights[here], total)
        similarity[:total, :total] += matrix @ matrix.T
    flat, width = similarity.reshape(-1), len(similarity)
    for size in range(1, _COMMON):
        of_size = numpy.flatnonzero(sizes == size)
        step = max(1, _PAIRS // size**2)
        for start in range(0, len(of_size), step):
            places = firsts[of_size[start : start + step], None] + numpy.arange(size)
            row, weight = rows[places], weights[places]
            pairs = row[:, :, None] * width + row[:, None, :]
            numpy.add.at(flat, pairs.reshape(-1), (weight[:, :, None] * weight[:, None, :]).reshape(-1))


def _owners(starts: Integers) -> Integers:
    """For each element of parts given by their starts, the number of its part."""
    return numpy.repeat(numpy.arange(len(starts) - 1), numpy.diff(starts))


def _matrix(columns: Integers, rows: Integers, values: Floats, height: int) -> Floats:
    """A matrix of values at rows and columns, without empty columns."""
    used, place = numpy.unique(columns, return_inverse=True)
    matrix = numpy.zeros((height, len(used)), dtype=numpy.float32)
    matrix[rows, place] = values
    return matrix


def _mean_of_nearest(similarity: Floats) -> float:
    """The mean over rows of the mean of the three largest elements off the diagonal."""
    others = similarity.copy()
    numpy.fill_diagonal(others, -1.0)
    nearest = min(3, len(others) - 1)
    return float(-numpy.partition(-others, nearest - 1, axis=1)[:, :nearest].mean())
