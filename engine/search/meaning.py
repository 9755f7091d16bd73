"""Similarity by meaning, on a scale that is the same for every query and model (spec 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from engine.search.table import Floats, Table

DEVIATIONS = 6.0
"""This many standard deviations above the mean are a similarity of 1."""


def cosines_of(table: Table, vector: Floats) -> Floats:
    """The similarity of every chunk to a unit vector, float32 ``[N]``; 0 for a chunk without a vector."""
    # Not ``rows @ vector``, whose summation order for a row depends on its place among the rows.
    found: Floats = numpy.einsum("ij,j->i", table.vectors, vector) * table.scales
    return found


def scores_of(table: Table, cosines: Floats, vector: Floats, weight: float, sample: Floats) -> Floats:
    """How far similarities are above the mean of all chunks, in standard deviations, float32 ``[N]``.

    Args:
        weight: The score of a similarity of 1.
        sample: float32 ``[S, D]``, not empty: unit vectors that represent those of all chunks.
    """
    usual = sample @ vector
    mean, deviation = float(usual.mean()), float(usual.std()) or 1.0
    found: Floats = numpy.maximum((cosines - mean) * (weight / DEVIATIONS / deviation), 0.0)
    found[table.scales == 0] = 0.0
    return found.astype(numpy.float32)
