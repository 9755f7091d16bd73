"""Finds the largest of very many scores without sorting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from engine.search.resident.segment import Floats

_WIDTH = 64


def largest_of(values: Sequence[Floats], count: int) -> list[Any]:
    """Apply ``_largest`` to all values together, and return the places in each array."""
    if len(values) == 1:
        return [_largest(values[0], count)]
    sizes = [len(each) for each in values]
    ends = numpy.cumsum(sizes)
    places = _largest(numpy.concatenate(values), count)
    cuts = numpy.searchsorted(places, ends[:-1])
    return [found - start for found, start in zip(numpy.split(places, cuts), ends - sizes, strict=True)]


def least_of_the_best(values: Sequence[Floats], count: int) -> float:
    """The smallest of the ``count`` largest values; 0 if there are no more than ``count``."""
    together = values[0] if len(values) == 1 else numpy.concatenate(values)
    if len(together) <= count:
        return 0.0
    return float(numpy.partition(together, len(together) - count)[len(together) - count])


def _largest(total: Floats, count: int) -> Any:
    """The places of the ``count`` largest scores above 0, ascending, plus all ties with the smallest."""
    if len(total) <= count:
        return numpy.flatnonzero(total > 0)
    # The maxima of groups of scores are few, and the smallest of the best maxima is a lower bound for what
    # to look at. The members of a group are ``groups`` apart, so that all maxima are computed in parallel.
    groups = len(total) // _WIDTH
    bound = numpy.float32(0.0)
    if groups > count:
        heads = total[: groups * _WIDTH].reshape(_WIDTH, groups).max(axis=0)
        bound = numpy.partition(heads, groups - count)[groups - count]
    places = numpy.flatnonzero(total >= bound) if bound > 0 else numpy.flatnonzero(total > 0)
    if len(places) > count:
        values = total[places]
        least = numpy.partition(values, len(places) - count)[len(places) - count]
        places = places[values >= least]
    return places
