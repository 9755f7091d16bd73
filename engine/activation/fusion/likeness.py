"""How alike the entries of a set of topics are to one another, and the classifiers trained on that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]
    Integers = NDArray[Any]

CLASSIFIED_ENTRIES = 4_096
"""Entries up to which the classifiers are trained: the time grows with the cube of their number."""
RIDGE = 1.0
"""Regularisation of the classifiers, in units of one entry's likeness to itself."""

_COMMON = 64
"""Entries from which an n-gram is compared as a column of a matrix; of a rarer one, pair by pair."""
_COLUMNS = 2_000
_PAIRS = 1_000_000
"""Columns and pairs compared at once; they bound the memory."""


def own_likeness(starts: Integers, index: Mapping[str, Any], vectors: Floats) -> tuple[Floats, Floats]:
    """How alike each topic's own entries are.

    Args:
        starts: int32 ``[T + 1]``: the first entry of each topic.
        index: The n-grams of the entries, as ``index_grams`` gives them.
        vectors: float32 ``[N, D]``: the entries' vectors.

    Returns:
        ``own_vectors`` and ``own_grams`` of ``Fitted``.
    """
    import numpy  # noqa: PLC0415 — tier 2 of the ``spec`` preset does without

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


def train_classifiers(starts: Integers, index: Mapping[str, Any], vectors: Floats) -> Floats:
    """A regularised least-squares classifier per topic, over the likeness to each entry.

    Likeness is the sum of the cosines of vectors and of n-grams. A classifier is taught to give 1 for the
    entries of its topic and −1/T for the others.

    Args:
        starts, index, vectors: As in ``own_likeness``.

    Returns:
        ``classifiers`` of ``Fitted``.
    """
    import numpy  # noqa: PLC0415 — as above

    total, count = int(starts[-1]), len(starts) - 1
    if total > CLASSIFIED_ENTRIES or count < 2:
        return numpy.zeros((0, 0), dtype=numpy.float32)
    likeness = vectors @ vectors.T
    _add_grams(likeness, index)
    likeness[numpy.diag_indices(total)] += RIDGE
    aims = numpy.full((total, count), -1.0 / count, dtype=numpy.float32)
    aims[numpy.arange(total), _owners(starts)] = 1.0
    solved: Floats = numpy.linalg.solve(likeness, aims).astype(numpy.float32)
    return solved


def _add_grams(likeness: Floats, index: Mapping[str, Any]) -> None:
    """Adds the cosines of the entries' n-grams to a matrix ``[N, N]``."""
    import numpy  # noqa: PLC0415 — as above

    total = len(likeness)
    mine = index["rows"] < total
    rows, weights = index["rows"][mine].astype(numpy.int64), index["weights"][mine]
    columns = _owners(index["offsets"])[mine]
    sizes = numpy.bincount(columns, minlength=len(index["grams"]))
    firsts = numpy.cumsum(sizes) - sizes
    common = numpy.flatnonzero(sizes >= _COMMON)
    for start in range(0, len(common), _COLUMNS):
        here = numpy.isin(columns, common[start : start + _COLUMNS])
        matrix = _matrix(columns[here], rows[here], weights[here], total)
        likeness += matrix @ matrix.T
    flat = likeness.reshape(-1)
    for size in range(1, _COMMON):
        of_size = numpy.flatnonzero(sizes == size)
        step = max(1, _PAIRS // size**2)
        for start in range(0, len(of_size), step):
            places = firsts[of_size[start : start + step], None] + numpy.arange(size)
            row, weight = rows[places], weights[places]
            pairs = row[:, :, None] * total + row[:, None, :]
            numpy.add.at(flat, pairs.reshape(-1), (weight[:, :, None] * weight[:, None, :]).reshape(-1))


def _owners(starts: Integers) -> Integers:
    """For each element of parts that begin at ``starts``, the number of its part."""
    import numpy  # noqa: PLC0415 — as above

    return numpy.repeat(numpy.arange(len(starts) - 1), numpy.diff(starts))


def _matrix(columns: Integers, rows: Integers, values: Floats, height: int) -> Floats:
    """Values at rows and columns as a matrix without empty columns."""
    import numpy  # noqa: PLC0415 — as above

    used, place = numpy.unique(columns, return_inverse=True)
    matrix = numpy.zeros((height, len(used)), dtype=numpy.float32)
    matrix[rows, place] = values
    return matrix


def _mean_of_nearest(likeness: Floats) -> float:
    """The mean over rows of the mean of the three largest entries beside the diagonal."""
    import numpy  # noqa: PLC0415 — as above

    others = likeness.copy()
    numpy.fill_diagonal(others, -1.0)
    nearest = min(3, len(others) - 1)
    return float(-numpy.partition(-others, nearest - 1, axis=1)[:, :nearest].mean())
