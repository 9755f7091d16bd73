"""Scores by words: BM25 over the postings of any number of segments (spec 7.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.resident.segment import Floats, Part, Segment

K1 = 0.8
B = 0.75
"""BM25 parameters: how quickly repeated words saturate, and how much long chunks are penalized."""

FILE_K1 = 2.0
FILE_B = 0.6
"""The same for files as a whole."""
_TIMES = numpy.minimum(numpy.arange(256, dtype=numpy.float32) / 5, numpy.float32(4.0)).astype(float)
"""How many occurrences a word counts for its file, by its count in a chunk."""


def scores_of(parts: Sequence[Part], terms: Mapping[int, float]) -> list[Floats]:
    """BM25 of every chunk of every part, float32 ``[N]`` each; 0 for deleted chunks.

    ``terms`` maps term numbers to weights.
    """
    count = total = 0
    for part in parts:
        if part.alive is None:
            count += len(part.segment)
            total += part.segment.extent
        else:
            count += int(part.alive.sum())
            total += int(part.segment.lengths[part.alive].sum(dtype=numpy.int64))
    mean = total / count if total else 1.0
    scores = [numpy.zeros(len(part.segment), dtype=numpy.float32) for part in parts]
    floors = [_floors(part.segment, mean) for part in parts]
    for term, weight in terms.items():
        holders = sum(part.holders(term) for part in parts)
        if not holders:
            continue
        idf = math.log1p((count - holders + 0.5) / (holders + 0.5))
        for part, score, floor in zip(parts, scores, floors, strict=True):
            first, last = part.span(term)
            if first < last:
                places = part.segment.postings[first:last]
                times = part.segment.counts[first:last].astype(numpy.float32)
                score[places] += numpy.float32(weight * idf * (K1 + 1)) * (times / (times + floor[places]))
    for part, score in zip(parts, scores, strict=True):
        if part.alive is not None:
            score[~part.alive] = 0.0
    return scores


def scores_of_files(parts: Sequence[Part], terms: Sequence[int]) -> list[Floats]:
    """BM25 of every file as one text, relative to the best, float32 ``[F]`` for each part.

    ``terms`` are distinct term numbers.
    """
    lengths = [_extents(part) for part in parts]
    count = sum(int(numpy.count_nonzero(each)) for each in lengths)
    mean = sum(int(each.sum()) for each in lengths) / count if count else 1.0
    scores = [numpy.zeros(len(each), dtype=numpy.float32) for each in lengths]
    floors = [
        numpy.float32(FILE_K1) * (1 - FILE_B + FILE_B * length / mean).astype(numpy.float32)
        for length in lengths
    ]
    for term in terms:
        times = [_times(part, term) for part in parts]
        holders = sum(int(numpy.count_nonzero(each)) for each in times)
        idf = math.log1p((count - holders + 0.5) / (holders + 0.5))
        for score, each, floor in zip(scores, times, floors, strict=True):
            score += numpy.float32(idf) * (each / (each + floor))
    best = max((float(each.max(initial=0.0)) for each in scores), default=0.0)
    return [each / numpy.float32(best) for each in scores] if best else scores


def _extents(part: Part) -> NDArray[numpy.int64]:
    """The number of terms in each file, in fifths; 0 for deleted files."""
    segment = part.segment
    if part.alive is None:
        return segment.extents
    is_alive = numpy.bincount(segment.owners, weights=part.alive, minlength=len(segment.files)) > 0
    return segment.extents * is_alive


def _times(part: Part, term: int) -> Floats:
    """How often a word appears in each file of a part, counting at most four times per chunk."""
    segment = part.segment
    first, last = part.span(term)
    places, counts = segment.postings[first:last], segment.counts[first:last]
    if part.alive is not None:
        kept = part.alive[places]
        places, counts = places[kept], counts[kept]
    found = numpy.bincount(segment.owners[places], weights=_TIMES[counts], minlength=len(segment.files))
    return found.astype(numpy.float32)


def _floors(segment: Segment, mean: float) -> Floats:
    """The length penalty of each chunk, in fifths like lengths and counts."""
    kept = segment.floors.get(mean)
    if kept is None:
        lengths = segment.lengths.astype(numpy.float32)
        kept = numpy.float32(5 * K1 * B / mean) * lengths + numpy.float32(5 * K1 * (1 - B))
        segment.floors.clear()
        segment.floors[mean] = kept
    return kept
