"""Similarity by meaning: roughly by the signs of vectors, for all chunks, and exactly for some (spec 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from engine.search.resident.segment import Floats, Segment

DEVIATIONS = 6.0
"""So many standard deviations above the mean are a similarity of 1."""


class Meaning:
    """Similarity to a query, in standard deviations above the mean of all chunks.

    Args:
        vector: The query's, float32 ``[D]``, of length 1.
        weight: Of a similarity of 1.
        sample: float32 ``[S, D]``, not empty: vectors of length 1 that stand for those of all chunks.
    """

    def __init__(self, vector: Floats, weight: float, sample: Floats) -> None:
        self._vector = vector
        self._signs = numpy.packbits(vector > 0)
        cosines = sample @ vector
        self._mean, self._deviation = float(cosines.mean()), float(cosines.std()) or 1.0
        self._weight = weight / DEVIATIONS
        width = len(vector)
        self._size = numpy.min_scalar_type(width)  # of a number of signs
        agreeing = numpy.arange(width + 1, dtype=numpy.float32)
        self._rough = self.of(numpy.cos(numpy.pi * agreeing / width))

    def of(self, cosines: Floats) -> Floats:
        """The score of similarities."""
        above = (cosines - numpy.float32(self._mean)) * numpy.float32(self._weight / self._deviation)
        found: Floats = numpy.maximum(above, numpy.float32(0.0)).astype(numpy.float32)
        return found

    def roughly(self, segment: Segment) -> Floats:
        """The score of every chunk, by the signs of its vector."""
        apart = numpy.bitwise_count(segment.signs ^ self._signs.view(segment.signs.dtype)[:, None])
        rough: Floats = self._rough.take(apart.sum(axis=0, dtype=self._size))
        rough[segment.blank] = 0.0
        return rough

    def cosines(self, segment: Segment, places: Any) -> Floats:
        """The similarity of some chunks."""
        rows = segment.vectors[places].astype(numpy.float32)
        # Not ``rows @ vector``, which adds a row up otherwise depending on where among the rows it stands.
        found: Floats = numpy.einsum("ij,j->i", rows, self._vector) * segment.scales[places]
        return found
