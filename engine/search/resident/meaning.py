"""Similarity by meaning: roughly by the signs of vectors, for all chunks, and exactly for some (spec 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.resident.segment import Floats, Segment

_MOST_OF_A_BYTE = 255
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
        agreeing = numpy.arange(width + 1, dtype=numpy.float32)
        self._rough = self.of(numpy.cos(numpy.pi * agreeing / width))

    def of(self, cosines: Floats) -> Floats:
        """The score of similarities."""
        above = (cosines - numpy.float32(self._mean)) * numpy.float32(self._weight / self._deviation)
        found: Floats = numpy.maximum(above, numpy.float32(0.0)).astype(numpy.float32)
        return found

    def roughly(self, segment: Segment) -> Floats:
        """The score of every chunk, by the signs of its vector."""
        differing = _differing(segment.bits, self._signs)
        rough: Floats = self._rough.take(differing)
        rough[segment.blank] = 0.0
        return rough

    def cosines(self, segment: Segment, places: Any) -> Floats:
        """The similarity of some chunks."""
        rows = segment.vectors[places].astype(numpy.float32)
        # Not ``rows @ vector``, which adds a row up otherwise depending on where among the rows it stands.
        found: Floats = numpy.einsum("ij,j->i", rows, self._vector) * segment.scales[places]
        return found


def _differing(bits: NDArray[numpy.uint8], signs: NDArray[numpy.uint8]) -> Any:
    """In how many signs each row differs."""
    size = numpy.uint8 if 8 * bits.shape[1] <= _MOST_OF_A_BYTE else numpy.uint16
    if bits.shape[1] % 8 == 0 and bits.flags.c_contiguous:
        bits, signs = bits.view(numpy.uint64), signs.view(numpy.uint64)
    # Column by column: what comes of one fits the processor's cache.
    first, *others = zip(bits.T, signs, strict=True)
    counted: Any = numpy.bitwise_count(numpy.bitwise_xor(*first)).astype(size, copy=False)
    for column, sign in others:
        counted += numpy.bitwise_count(column ^ sign)
    return counted
