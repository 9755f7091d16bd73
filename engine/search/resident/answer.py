"""A query answered from the copy in memory; what it found is read from the database (spec 7.1, 7.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import apsw

from engine.search.dates import days_in
from engine.search.described import Chosen, Wording, described
from engine.search.resident import ranking
from engine.search.resident.ranking import Asked, Found
from engine.search.resident.relevance import relevance, weighed
from engine.search.resident.segment import Part
from engine.search.results import Category, SearchResult, Share, ShareName
from engine.search.talk import telling
from engine.search.worth import Offer, Room, about, in_order

if TYPE_CHECKING:
    from engine.search.resident.resident import Resident, View
    from engine.search.resident.segment import Floats, Segment

_LEAST_SHARE = 0.0005
_NAMES: tuple[ShareName, ...] = (
    *("words", "meaning", "speaker", "date", "neighbours", "session", "recency", "use"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        query: As it was written.
        terms: Its literal words, at least one.
        vector: float32 ``[D]``, of length 1; ``None`` to search by words alone.
        limit: Results wanted.
        room: What they are to fill; ``None`` where all are wanted, best first.
        category: Only files of this category; ``None`` for all.
        exclude: Paths of files left out.
        weights: Of words and of meaning.
        today: The day on which it is asked.
        half_life_days: As in ``config.SearchSettings``.
        references: Useful references by path.
        in_full: As in ``described.Wording``.
        context: The words of what it is asked in.
    """

    query: str
    terms: tuple[str, ...]
    vector: Floats | None
    limit: int
    room: Room | None
    category: Category | None
    exclude: Collection[str]
    weights: tuple[float, float]
    today: date
    half_life_days: float
    references: Mapping[str, int]
    in_full: bool
    context: tuple[str, ...] = ()


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
    asked = Asked(
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
    best = found[0].score if found else 1.0
    if len(parts) > 1:  # in one, equals are in order already
        found.sort(key=lambda one: (-one.score, view.segments[one.part].path_of(one.place), one.place))
    found = found[: question.limit]
    if question.room is not None:
        offers = [_offer(one, best, view) for one in found]
        found = [found[place] for place in in_order(offers, question.room)]
    chosen = [
        Chosen(
            chunk=int(view.segments[one.part].chunks[one.place]),
            score=one.score / best,
            lexical_rank=one.lexical_rank,
            vector_rank=one.vector_rank,
            cosine=one.cosine,
            shares=_shares(one, best),
            relevance=relevance(one.share, one.cosine),
        )
        for one in found
    ]
    return described(connection, Wording(question.terms, ranking.POOL, question.in_full), chosen)


def _offer(found: Found, best: float, view: View) -> Offer:
    segment = view.segments[found.part]
    return Offer(
        path=segment.path_of(found.place),
        score=found.score / best,
        by_file=found.session / best,
        relevance=relevance(found.share, found.cosine),
        tokens=about(int(segment.sizes[found.place])),
    )


def _usable(vector: Floats | None, view: View) -> Floats | None:
    """The vector of a query; ``None`` where the model gave one of another length, or no numbers."""
    import numpy  # noqa: PLC0415 — only a search needs it

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
    import numpy  # noqa: PLC0415 — only a search needs it

    used = None
    for path, times in references.items():
        place = segment.place_of(path)
        if place is not None:
            used = numpy.zeros(len(segment.files), dtype=numpy.float32) if used is None else used
            used[place] = times
    return used


def _shares(found: Found, best: float) -> tuple[Share, ...]:
    values = (
        *(found.words, found.meaning, found.speaker, found.date),
        *(found.neighbours, found.session, found.recency, found.use),
    )
    least = _LEAST_SHARE * best
    told = [(value, name) for value, name in zip(values, _NAMES, strict=True) if not -least < value < least]
    told.sort(reverse=True)
    return tuple([Share(name, value / best) for value, name in told])
