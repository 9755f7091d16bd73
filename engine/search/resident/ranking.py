"""Which chunks answer a query, by words, by meaning and by what stands around them (spec 7.3).

A chunk's own score is ``words + meaning``: BM25 divided by the best of the query and the share of the query's
words that it holds, and how far its vector is nearer to the query's than the vectors of all chunks on
average, in standard deviations. What answers a
question is often said in the turn next to the one that has its words, and seldom in a session that is about
something else: so neighbours and the best of the session add a part of their own scores.

Words are looked up exactly for every chunk; meaning first by the signs of the vectors, for all chunks, and
then exactly for those that may be among the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy

from engine.search.resident import bm25
from engine.search.resident.largest import largest_of, least_of_the_best
from engine.search.resident.meaning import Meaning
from engine.search.resident.relevance import relevance, shares
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.resident.segment import Floats, Ints, Part, Segment
    from engine.search.results import ShareName

COVERAGE = 0.2
"""What it counts to hold all words of the query, whichever and however often."""
NEIGHBOURS = (0.3, 0.2, 0.1)
"""What a chunk gets of the own scores of those one, two and three places away in its file."""
SESSION = 0.8
"""What it gets of the mean of the best own scores in its file."""
SESSION_BEST = 3
WHOLE = 0.2
"""What the words of a file as one text count beside that mean: the words of a question may be scattered."""
PERSON = 1.1
"""By what the own score is multiplied where the person speaks: memory is mostly asked for their words."""
SPEAKER = 1.3
"""By what the own score is multiplied when the query names who speaks."""
ABSENT = 0.6
"""By what it is multiplied in a file where none of the speakers whom the query names takes part."""
NAME = 0.3
"""What the name of a speaker counts as a word: it stands in every turn of theirs, whatever that is about."""
DATED = 1.3
"""By what it is multiplied when the query speaks of the day."""
RECENCY = 0.1
"""What the final score of old text that fades loses at most; half of it after its half-life."""
USE = 0.1
"""What it gains for one useful reference; for three twice as much, for seven three times, and no more."""
_MOST_USE = 3.0
POOL = 400
"""Chunks, at least, whose meaning is looked at exactly; of fewer, all."""
LEADERS = 128
"""Of so many with the best own scores, the neighbours are candidates too, whatever their own scores."""
DECIMALS = 6
"""Of scores that are compared: what differs less is equal."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query."""

    terms: Sequence[int]  # the numbers of the words, each once
    vector: Floats | None  # float32 ``[D]``, of length 1; ``None`` to search by words alone
    limit: int
    words: float
    meaning: float
    days: Sequence[tuple[int, int]] = ()  # ordinals of the days that it speaks of: first and last, inclusive
    today: int = 0  # ordinal
    half_life: float = 0.0  # days after which text that fades has lost half of ``RECENCY``; 0: never
    places: bool = False  # whether to say where words and meaning alone would have put each chunk
    context: Mapping[int, float] = field(default_factory=dict)
    """Numbers of the words before the query, with their weights."""
    asks: Mapping[int, float] = field(default_factory=dict)
    """Numbers of the words that say what is asked for, with their weights, the context's among them."""


@dataclass(frozen=True, slots=True)
class Found:
    """``N`` chunks that may answer, best first; columns, for hundreds are found and few are wanted."""

    parts: NDArray[Any]  # int ``[N]``: the place of each one's part
    places: NDArray[Any]  # int ``[N]``: its place in the segment
    scores: NDArray[Any]  # float ``[N]``: the sum of its shares, rounded: equals have equal scores
    shares: NDArray[Any]  # float ``[8, N]``: what each score is made of, in the order of ``SHARES``
    lexical_ranks: Sequence[int | None]
    """1-based place by words; ``None`` without any, or where no places were asked for."""
    vector_ranks: Sequence[int | None]
    """1-based place by meaning, among the chunks whose meaning was looked at exactly."""
    cosines: NDArray[Any] | None
    """float ``[N]``: similarity to the query; ``None`` where the search was by words alone."""
    relevance: NDArray[Any]  # float ``[N]``, 0 to 1: as in ``SearchResult``

    def __len__(self) -> int:
        return len(self.scores)


SHARES: tuple[ShareName, ...] = (
    *("words", "meaning", "speaker", "date", "neighbours", "session", "recency", "use"),
)
BY_FILE = SHARES.index("session")


def rank(parts: Sequence[Part], sample: Floats, asked: Query) -> Found | None:
    """The chunks that may answer, best first, equals by part and place; ``None`` where there are none.

    ``sample`` is float32 ``[S, D]``: vectors of length 1 that stand for those of all chunks.
    """
    voices = [term for term in asked.terms if any(part.is_voice(term) for part in parts)]
    words = bm25.scores_of(
        parts, {**dict.fromkeys(asked.terms, 1.0), **dict.fromkeys(voices, NAME), **asked.context}
    )
    best = max((float(each.max(initial=0.0)) for each in words), default=0.0)
    meaning = None
    if asked.vector is not None and len(sample):
        meaning = Meaning(asked.vector, asked.meaning, sample)
    named = numpy.array(voices, dtype=numpy.uint64)
    per_word = asked.words / best if best else 0.0
    voicings = [_by_speaker(part.segment, named) for part in parts]
    owns = []
    for part, by_bm25, by_speaker in zip(parts, words, voicings, strict=True):
        own = by_bm25 * numpy.float32(per_word)
        if meaning is not None:
            own += meaning.roughly(part.segment)
        own *= by_speaker
        if asked.days:
            own[_dated(part.segment.days, asked)] *= numpy.float32(DATED)
        owns.append(own)
    candidates = _candidates(parts, owns, max(POOL, 2 * asked.limit))
    held = shares(parts, asked.asks, candidates)
    wholes = bm25.scores_of_files(parts, asked.terms)
    columns = [
        _exactly(number, part, by_bm25, own, places, meaning, per_word, by_speaker, asked, *shared)
        for number, (part, by_bm25, own, places, by_speaker, *shared) in enumerate(
            zip(parts, words, owns, candidates, voicings, held, wholes, strict=True)
        )
        if len(places)
    ]
    if not columns:
        return None
    looked_at = numpy.concatenate(columns, axis=1)
    scores_found = numpy.round(looked_at[2], DECIMALS)
    order = numpy.lexsort((looked_at[1], looked_at[0], -scores_found))
    order = order[scores_found[order] > 0]
    if len(order) > asked.limit:
        # Equals of the last one stay, or their place in memory would decide who is in.
        order = order[scores_found[order] >= scores_found[order[asked.limit - 1]]]
    if not len(order):
        return None
    looked_at[2] = scores_found
    table = looked_at[:, order]
    by_words = by_meaning = [None] * len(order)
    if asked.places:
        by_words = _places(numpy.concatenate(list(map(_permitted, parts, words))), table[-3])
        if meaning is not None:
            by_meaning = _places(looked_at[-2], table[-2])
    cosines = None if meaning is None else table[-2]
    return Found(
        parts=table[0].astype(numpy.intp),
        places=table[1].astype(numpy.intp),
        scores=table[2],
        shares=table[3:-3],
        lexical_ranks=by_words,
        vector_ranks=by_meaning,
        cosines=cosines,
        relevance=relevance(table[-1], cosines),
    )


def _places(all_values: Floats, values: Any) -> list[Any]:
    """At which place each of some values stands among all; 0 has none."""
    ascending = numpy.sort(all_values[(all_values >= values.min()) & (all_values != 0)])
    above = len(ascending) - numpy.searchsorted(ascending, values.astype(all_values.dtype), side="right")
    return [
        place + 1 if value else None for place, value in zip(above.tolist(), values.tolist(), strict=True)
    ]


def _by_speaker(segment: Segment, named: NDArray[numpy.uint64]) -> Floats:
    """By what the own scores of all chunks are multiplied, for the speakers that a query names."""
    # Taken from a table: a mask is ten times as slow where it lets half of them through.
    factors = numpy.array([1.0, PERSON], dtype=numpy.float32).take(segment.persons.view(numpy.uint8))
    if len(named):
        spoken = numpy.isin(segment.speakers, named)
        absent = numpy.full(len(segment.files), ABSENT, dtype=numpy.float32)
        absent[segment.owners[spoken]] = 1.0
        factors *= absent[segment.owners]
        factors[spoken] *= numpy.float32(SPEAKER)
    return factors


def _around(segment: Segment, own: Floats, places: Any) -> Any:
    """What some chunks get of the own scores of their neighbours."""
    others, beside = _beside(segment, places)
    shares = numpy.repeat(numpy.array(NEIGHBOURS, dtype=numpy.float32), 2)
    # One after the other, as a sum over rows is: nothing depends on how many there are.
    return numpy.add.reduce(own.take(others, mode="clip") * beside * shares[:, None], axis=0)


def _with_those_beside(segment: Segment, places: Any, leaders: Any) -> Any:
    """Some places and those of the leaders' neighbours, ascending, each once."""
    wanted = numpy.zeros(len(segment), dtype=bool)
    wanted[places] = True
    others, beside = _beside(segment, leaders)
    wanted[others[beside]] = True
    return numpy.flatnonzero(wanted)


def _beside(segment: Segment, places: Any) -> tuple[Any, Any]:
    """The places before and behind some chunks, two rows a ``NEIGHBOURS``; and which are of their file."""
    steps = numpy.array([step for away in range(1, len(NEIGHBOURS) + 1) for step in (-away, away)])
    others = places + steps[:, None]
    owners = segment.owners
    within = (others >= 0) & (others < len(owners))
    return others, within & (owners.take(others, mode="clip") == owners[places])


def _permitted(part: Part, values: Floats) -> Floats:
    """The values of the chunks that may be results."""
    mask = part.alive if part.allowed is None else part.allowed
    return values if mask is None else values[mask]


def _candidates(parts: Sequence[Part], owns: Sequence[Floats], count: int) -> list[Any]:
    """For each part the places of the chunks to look at exactly: how many it has depends on all parts."""
    masks = [part.alive if part.allowed is None else part.allowed for part in parts]
    sizes = [len(part.segment) for part in parts]
    most = sum(size if mask is None else int(mask.sum()) for size, mask in zip(sizes, masks, strict=True))
    if most <= count:
        return [
            numpy.arange(size) if mask is None else numpy.flatnonzero(mask)
            for size, mask in zip(sizes, masks, strict=True)
        ]
    # Few have a chance: those that are good themselves, and those beside the best.
    allowed = [
        own if mask is None else numpy.where(mask, own, numpy.float32(0.0))
        for own, mask in zip(owns, masks, strict=True)
    ]
    good = largest_of(allowed, count)
    values = [own[places] for own, places in zip(allowed, good, strict=True)]
    least = least_of_the_best(values, LEADERS)
    wider = [
        _with_those_beside(part.segment, places, places[scores_there >= least])
        for part, places, scores_there in zip(parts, good, values, strict=True)
    ]
    totals = [
        own[places] + _around(part.segment, own, places)
        for part, own, places in zip(parts, owns, wider, strict=True)
    ]
    return [places[best] for places, best in zip(wider, largest_of(totals, count), strict=True)]


def _exactly(
    number: int,
    part: Part,
    by_bm25: Floats,
    owns: Floats,
    places: Any,
    meaning: Meaning | None,
    per_word: float,
    by_speaker: Floats,
    asked: Query,
    share: Floats,
    whole: Floats,
) -> Any:
    """Of some chunks, a column each: part, place, score, ``SHARES``, BM25, similarity, share of the words."""
    segment = part.segment
    words = by_bm25[places] * numpy.float32(per_word) + share * numpy.float32(COVERAGE * asked.words)
    similarity = numpy.zeros(len(places), dtype=numpy.float32)
    cosines = similarity
    if meaning is not None:
        cosines = meaning.cosines(segment, places)
        similarity = meaning.of(cosines)
        similarity[segment.scales[places] == 0] = 0.0
    own = words + similarity
    date = nothing = numpy.zeros(len(places), dtype=numpy.float32)
    speaker = own * (by_speaker[places] - 1)
    own = own + speaker
    if asked.days:
        date = numpy.where(_dated(segment.days[places], asked), own * numpy.float32(DATED - 1), nothing)
        own = own + date
    owns[places] = own  # nothing but the neighbours looks at it from here on
    around = _around(segment, owns, places)
    owners = segment.owners[places]
    session = (_sessions(owners, own) + whole[owners] * numpy.float32(WHOLE)) * numpy.float32(SESSION)
    total = own + around + session
    recency = _faded(part, places, asked) * total
    use = _used(part, places) * total
    numbers = numpy.full(len(places), number)
    told = (words, similarity, speaker, date, around, session, recency, use)
    return numpy.stack([numbers, places, total + recency + use, *told, by_bm25[places], cosines, share])


def _dated(days: Ints, asked: Query) -> Any:
    """Whether each day is one that the query speaks of."""
    found = numpy.zeros(len(days), dtype=bool)
    for first, last in asked.days:
        found |= (days >= first) & (days <= last)
    return found


def _faded(part: Part, places: Any, asked: Query) -> Any:
    """What part of their scores some chunks lose by their age, 0 or less; undated ones lose nothing."""
    if part.fading is None or not asked.half_life:
        return numpy.zeros(len(places), dtype=numpy.float32)
    days = part.segment.days[places]
    age = numpy.maximum(asked.today - days, 0).astype(numpy.float32)
    lost = numpy.float32(RECENCY) * (numpy.exp2(-age / numpy.float32(asked.half_life)) - 1)
    return lost * ((days > 0) & part.fading[part.segment.owners[places]])


def _used(part: Part, places: Any) -> Any:
    """What part of their scores some chunks gain by the use that their files were of."""
    if part.used is None:
        return numpy.zeros(len(places), dtype=numpy.float32)
    used = part.used[part.segment.owners[places]]
    return numpy.float32(USE) * numpy.minimum(numpy.log2(1 + used), numpy.float32(_MOST_USE))


def _sessions(owners: Any, own: Floats) -> Floats:
    """The mean of the best own scores in each chunk's file; what a file has too few of counts as 0."""
    order = numpy.lexsort((-own, owners))
    sorted_owners = owners[order]
    starts = numpy.flatnonzero(numpy.concatenate([[True], sorted_owners[1:] != sorted_owners[:-1]]))
    sizes = numpy.diff(numpy.concatenate([starts, [len(order)]]))
    place = numpy.arange(len(order)) - numpy.repeat(starts, sizes)
    best = numpy.where(place < SESSION_BEST, own[order], numpy.float32(0.0))
    means = numpy.add.reduceat(best, starts) / SESSION_BEST
    found = numpy.empty(len(order), dtype=numpy.float32)
    found[order] = numpy.repeat(means, sizes)
    return found
