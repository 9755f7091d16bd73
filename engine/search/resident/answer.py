"""Answers a query from the in-memory copy; the results' text is read from the database (spec 7.1, 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import apsw
import numpy

from engine.search.dates import days_in
from engine.search.described import Chosen, describe
from engine.search.query import literal_terms
from engine.search.resident import ranking
from engine.search.resident.ranking import BY_FILE, SHARES, Found, Query
from engine.search.resident.relevance import context_weights
from engine.search.resident.segment import Part
from engine.search.results import SearchResult, Share
from engine.search.talk import telling
from engine.search.worth import CHARACTERS_PER_TOKEN, Offers, in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.request import Request
    from engine.search.resident.resident import Resident, View
    from engine.search.resident.segment import Floats, Segment
    from engine.settings.model import SearchSettings

_LEAST_SHARE = 0.0005


def answer(
    resident: Resident,
    connection: apsw.Connection,
    request: Request,
    vector: Floats | None,
    settings: SearchSettings,
    references: Mapping[str, int],
) -> list[SearchResult]:
    """The best chunks, best first or by their value for the room; scores are relative to the best one.

    Args:
        vector: The query's unit vector, float32 ``[D]``, from the index's model; ``None`` to search by words
            alone.
        references: The number of useful references by path.

    Raises:
        apsw.Error: The database is damaged.
    """
    view = resident.view(connection)
    words, meaning = settings.weights
    parts = [_part(view, number, request, references) for number in range(len(view.segments))]
    key_terms = resident.numbers(telling(request.terms))
    context = literal_terms(request.context) if request.context else ()
    weights = context_weights(parts, key_terms, resident.numbers(telling(context)))
    query = Query(
        terms=resident.numbers(request.terms),
        vector=vector,
        limit=request.limit,
        words=words,
        meaning=meaning,
        days=[
            (each.first.toordinal(), each.last.toordinal()) for each in days_in(request.query, request.today)
        ],
        today=request.today.toordinal(),
        half_life=settings.half_life_days,
        with_ranks=request.in_full,
        context=weights,
        key_terms={**dict.fromkeys(key_terms, 1.0), **weights},
    )
    found = ranking.rank(parts, view.sample, query)
    if found is None:
        return []
    files, own = _files(found, view, "" if request.room is None else request.room.own)
    # Break ties by file path and by place in the file.
    order = numpy.lexsort((found.places, files, -found.scores))[: request.limit]
    if request.room is not None:
        order = order[in_order(_offers(found, files, order, view, own), request.room)]
    chosen = _chosen(found, order, view)
    return describe(connection, chosen, request.terms, ranking.POOL, in_full=request.in_full)


def _column(found: Found, view: View, name: str) -> NDArray[Any]:
    """The values of a segment column for the chunks found, int64 ``[N]``."""
    values = numpy.empty(len(found), dtype=numpy.int64)
    for number, segment in enumerate(view.segments):
        mine = found.parts == number
        values[mine] = getattr(segment, name)[found.places[mine]]
    return values


def _files(found: Found, view: View, own: str) -> tuple[NDArray[Any], int]:
    """Each chunk's file as a number in path order, int ``[N]``; and the number of ``own``, or -1."""
    which, numbers = numpy.unique(found.parts << 32 | _column(found, view, "owners"), return_inverse=True)
    keys = which.tolist()
    ranks = numpy.arange(len(keys))
    if len(view.segments) > 1:
        paths = [view.segments[key >> 32].paths[key & 0xFFFF_FFFF] for key in keys]
        ranks = numpy.argsort(sorted(range(len(keys)), key=paths.__getitem__))
    places = [segment.place_of(own) for segment in view.segments]
    owned = [number << 32 | place for number, place in enumerate(places) if place is not None]
    return ranks[numbers], next((int(ranks[keys.index(key)]) for key in owned if key in keys), -1)


def _offers(found: Found, files: NDArray[Any], order: NDArray[Any], view: View, own: int) -> Offers:
    best = found.scores[order[0]]
    return Offers(
        files=files[order],
        own=own,
        scores=found.scores[order] / best,
        by_file=found.shares[BY_FILE][order] / best,
        relevance=found.relevance[order],
        kinds=_column(found, view, "kinds")[order],
        tokens=_column(found, view, "sizes")[order] // CHARACTERS_PER_TOKEN,
    )


def _chosen(found: Found, order: NDArray[Any], view: View) -> list[Chosen]:
    best = float(found.scores[0])
    places = order.tolist()
    files = zip(found.parts[order].tolist(), _column(found, view, "owners")[order].tolist(), strict=True)
    return list(
        map(
            Chosen,
            _column(found, view, "chunks")[order].tolist(),
            [
                (view.segments[part].paths[owner], view.segments[part].categories[owner])
                for part, owner in files
            ],
            (found.scores[order] / best).tolist(),
            [found.lexical_ranks[place] for place in places],
            [found.vector_ranks[place] for place in places],
            [None] * len(places) if found.cosines is None else found.cosines[order].tolist(),
            _shares(found.shares[:, order] / best),
            found.relevance[order].tolist(),
        )
    )


def _part(view: View, number: int, request: Request, references: Mapping[str, int]) -> Part:
    segment = view.segments[number]
    return Part(
        segment=segment,
        alive=view.alive[number],
        allowed=view.allowed(number, request.category, request.exclude),
        fading=view.fading[number],
        used=_used(segment, references),
    )


def _used(segment: Segment, references: Mapping[str, int]) -> Floats | None:
    used = None
    for path, times in references.items():
        place = segment.place_of(path)
        if place is not None:
            used = numpy.zeros(len(segment.files), dtype=numpy.float32) if used is None else used
            used[place] = times
    return used


def _shares(parts: NDArray[Any]) -> Iterator[tuple[Share, ...]]:
    """The parts of each score, largest first, without negligible ones.

    ``parts`` are relative to the best score, float ``[8, N]``, in the order of ``SHARES``.
    """
    parts = numpy.where(numpy.abs(parts) < _LEAST_SHARE, -numpy.inf, parts)
    order = numpy.argsort(-parts, axis=0, kind="stable")
    names = _NAMES[order].T.tolist()
    values = numpy.take_along_axis(parts, order, axis=0).T.tolist()
    for name, value, count in zip(names, values, (parts > -numpy.inf).sum(axis=0).tolist(), strict=True):
        yield tuple(map(Share, name[:count], value[:count]))


_NAMES = numpy.array(SHARES, dtype=object)
