"""A query answered from the copy in memory; what it found is read from the database (spec 7.1, 7.3)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import numpy

from engine.search.dates import days_in
from engine.search.described import Chosen, Wording, described
from engine.search.resident import ranking
from engine.search.resident.ranking import BY_FILE, SHARES, Found, Query
from engine.search.resident.relevance import weighed
from engine.search.resident.segment import Part
from engine.search.results import Category, SearchResult, Share
from engine.search.talk import telling
from engine.search.worth import CHARACTERS_PER_TOKEN, Offers, Room, in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.resident.resident import Resident, View
    from engine.search.resident.segment import Floats, Segment

_LEAST_SHARE = 0.0005


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked."""

    query: str
    terms: tuple[str, ...]
    vector: Floats | None  # float32 ``[D]``, of length 1; ``None`` to search by words alone
    limit: int
    room: Room | None  # ``None`` where all are wanted, best first
    category: Category | None
    exclude: Collection[str]
    weights: tuple[float, float]  # of words and of meaning
    today: date
    half_life_days: float  # as in ``config.SearchSettings``
    references: Mapping[str, int]  # useful references by path
    in_full: bool  # as in ``described.Wording``
    context: tuple[str, ...] = ()  # the words of what precedes the query


def answer(resident: Resident, connection: apsw.Connection, question: Question) -> list[SearchResult]:
    """The best chunks, best first, or as they are worth the room; scores are shares of the best one's.

    Raises:
        apsw.Error: The database is damaged.
    """
    view = resident.view(connection)
    words, meaning = question.weights
    days = days_in(question.query, question.today)
    parts = [_part(view, number, question) for number in range(len(view.segments))]
    asks = resident.numbers(telling(question.terms))
    context = weighed(parts, asks, resident.numbers(telling(question.context)))
    asked = Query(
        terms=resident.numbers(question.terms),
        vector=_usable(question.vector, view),
        limit=question.limit,
        words=words,
        meaning=meaning,
        days=[(each.first.toordinal(), each.last.toordinal()) for each in days],
        today=question.today.toordinal(),
        half_life=question.half_life_days,
        places=question.in_full,
        context=context,
        asks={**dict.fromkeys(asks, 1.0), **context},
    )
    found = ranking.rank(parts, view.sample, asked)
    if found is None:
        return []
    files = _files(found, view)
    # In one segment equals are in order already.
    order = numpy.lexsort((found.places, files.numbers, -found.scores))[: question.limit]
    if question.room is not None:
        offers = _offers(found, files, order, view, question.room.own)
        order = order[in_order(offers, question.room)]
    wording = Wording(question.terms, ranking.POOL, question.in_full)
    return described(connection, wording, _chosen(found, order, view))


class _Files(NamedTuple):
    """The files of what was found."""

    paths: list[str]  # ascending
    numbers: NDArray[Any]  # int ``[N]``: the place of each one's path


def _files(found: Found, view: View) -> _Files:
    owners = numpy.empty(len(found), dtype=numpy.int64)
    for number, segment in enumerate(view.segments):
        mine = found.parts == number
        owners[mine] = segment.owners[found.places[mine]]
    which, numbers = numpy.unique(found.parts << 32 | owners, return_inverse=True)
    paths = [view.segments[each >> 32].paths[each & 0xFFFF_FFFF] for each in which.tolist()]
    if len(view.segments) > 1:
        ascending = sorted(range(len(paths)), key=paths.__getitem__)
        places = numpy.empty(len(paths), dtype=numpy.intp)
        places[ascending] = numpy.arange(len(paths))
        return _Files([paths[each] for each in ascending], places[numbers])
    return _Files(paths, numbers)


def _offers(found: Found, files: _Files, order: NDArray[Any], view: View, own: str) -> Offers:
    characters = numpy.empty(len(found), dtype=numpy.int64)
    for number, segment in enumerate(view.segments):
        mine = found.parts == number
        characters[mine] = segment.sizes[found.places[mine]]
    place = bisect_left(files.paths, own)
    best = found.scores[order[0]]
    return Offers(
        files=files.numbers[order],
        own=place if files.paths[place : place + 1] == [own] else -1,
        scores=found.scores[order] / best,
        by_file=found.shares[BY_FILE][order] / best,
        relevance=found.relevance[order],
        tokens=characters[order] // CHARACTERS_PER_TOKEN,
    )


def _chosen(found: Found, order: NDArray[Any], view: View) -> list[Chosen]:
    best = float(found.scores[0])
    return [
        Chosen(
            chunk=int(view.segments[part].chunks[place]),
            score=score,
            lexical_rank=found.lexical_ranks[number],
            vector_rank=found.vector_ranks[number],
            cosine=cosine,
            shares=_shares(shares),
            relevance=relevance,
        )
        for number, part, place, score, cosine, shares, relevance in zip(
            order.tolist(),
            found.parts[order].tolist(),
            found.places[order].tolist(),
            (found.scores[order] / best).tolist(),
            [None] * len(order) if found.cosines is None else found.cosines[order].tolist(),
            (found.shares[:, order] / best).T.tolist(),
            found.relevance[order].tolist(),
            strict=True,
        )
    ]


def _usable(vector: Floats | None, view: View) -> Floats | None:
    """The vector of a query; ``None`` where the model gave one of another length, or no numbers."""
    if vector is None or vector.shape != view.sample.shape[1:] or not numpy.isfinite(vector).all():
        return None
    return vector


def _part(view: View, number: int, question: Question) -> Part:
    segment = view.segments[number]
    return Part(
        segment=segment,
        alive=view.alive[number],
        allowed=view.allowed(number, question.category, question.exclude),
        fading=view.fading[number],
        used=_used(segment, question.references),
    )


def _used(segment: Segment, references: Mapping[str, int]) -> Floats | None:
    used = None
    for path, times in references.items():
        place = segment.place_of(path)
        if place is not None:
            used = numpy.zeros(len(segment.files), dtype=numpy.float32) if used is None else used
            used[place] = times
    return used


def _shares(values: Sequence[float]) -> tuple[Share, ...]:
    """What a score is made of, largest first, without what hardly counts.

    ``values`` are parts of the best score, in the order of ``SHARES``.
    """
    told = [(value, name) for value, name in zip(values, SHARES, strict=True) if abs(value) >= _LEAST_SHARE]
    told.sort(reverse=True)
    return tuple([Share(name, value) for value, name in told])
