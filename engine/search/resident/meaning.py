"""Similarity by meaning: approximate for all chunks, by the vectors' signs, and exact for some (spec 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from engine.search.resident.segment import Floats, Segment

DEVIATIONS = 6.0
"""This many standard deviations above the mean are a similarity of 1."""


class Meaning:
    """Similarity to a query, in standard deviations above the mean of all chunks.

    Args:
        vector: The query's unit vector, float32 ``[D]``.
        weight: Score of a similarity of 1.
        sample: float32 ``[S, D]``, not empty: unit vectors that represent those of all chunks.
    """

    def __init__(self, vector: Floats, weight: float, sample: Floats) -> None:
        self._vector = vector
        self._signs = numpy.packbits(vector > 0)
        cosines = sample @ vector
        self._mean, self._deviation = float(cosines.mean()), float(cosines.std()) or 1.0
        self._weight = weight / DEVIATIONS
        width = len(vector)
        self._size = numpy.min_scalar_type(width)  # large enough to count signs
        agreeing = numpy.arange(width + 1, dtype=numpy.float32)
        self._rough = self.of(numpy.cos(numpy.pi * agreeing / width))

    def of(self, cosines: Floats) -> Floats:
        """The scores of similarities."""
        above = (cosines - numpy.float32(self._mean)) * numpy.float32(self._weight / self._deviation)
        found: Floats = numpy.maximum(above, numpy.float32(0.0)).astype(numpy.float32)
        return found

    def roughly(self, segment: Segment) -> Floats:
        """The approximate score of every chunk, by the signs of its vector."""
        apart = numpy.bitwise_count(segment.signs ^ self._signs.view(segment.signs.dtype)[:, None])
        rough: Floats = self._rough.take(apart.sum(axis=0, dtype=self._size))
        rough[segment.blank] = 0.0
        return rough

    def cosines(self, segment: Segment, places: Any) -> Floats:
        """The exact similarity of some chunks."""
        rows = segment.vectors[places].astype(numpy.float32)
        # Not ``rows @ vector``, whose summation order for a row depends on its place among the rows.
        found: Floats = numpy.einsum("ij,j->i", rows, self._vector) * segment.scales[places]
        return found
