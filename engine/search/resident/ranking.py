"""Ranks the chunks for a query, by words, by meaning and by their surroundings (spec 7.3).

A chunk's own score is ``words + meaning``. Words are BM25 divided by the query's best, plus the share of the
query's words that the chunk contains. Meaning is how much closer its vector is to the query's than the
average chunk's vector, in standard deviations. The answer to a question is often in the turn next to the one
with its words, and rarely in a session about something else, so neighbours and the best chunks of the session
add part of their own scores.

Word scores are exact for every chunk. Similarities are first approximated for all chunks, by the signs of the
vectors, and then computed exactly for those that may be among the results.
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
"""Weight of the share of the query's words that a chunk contains, however often."""
NEIGHBOURS = (0.3, 0.2, 0.1)
"""Weights of the own scores of chunks one, two and three places away in the same file."""
SESSION = 0.8
"""Weight of the mean of the best own scores in the file."""
SESSION_BEST = 3
WHOLE = 0.2
"""Weight of the file scored as one text, added to that mean: a question's words may be scattered."""
PERSON = 1.1
"""Factor of the own score if the user is speaking, since most queries look for the user's words."""
SPEAKER = 1.3
"""Factor of the own score if the query names the speaker."""
ABSENT = 0.6
"""Factor of the own score in a file in which none of the speakers named by the query takes part."""
NAME = 0.3
"""Weight of a speaker's name as a word, since it is in every turn of theirs, whatever the subject."""
DATED = 1.3
"""Factor of the own score if the query mentions the chunk's date."""
RECENCY = 0.1
"""Share of the final score that old text in a fading category loses at most; half after the half-life."""
USE = 0.1
"""Share of the final score gained by one useful reference; doubled for three, tripled for seven or more."""
_MOST_USE = 3.0
POOL = 400
"""Minimum number of chunks whose similarity is computed exactly; all if there are fewer."""
LEADERS = 128
"""The neighbours of this many chunks with the best own scores are also candidates, whatever their scores."""
DECIMALS = 6
"""Scores are rounded to this many decimals before they are compared."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query to rank chunks for."""

    terms: Sequence[int]  # distinct term numbers
    vector: Floats | None  # unit vector, float32 ``[D]``; ``None`` to search by words alone
    limit: int
    words: float
    meaning: float
    days: Sequence[tuple[int, int]] = ()  # date ranges it mentions: first and last ordinal, inclusive
    today: int = 0  # ordinal
    half_life: float = 0.0  # days after which fading text has lost half of ``RECENCY``; 0: never
    with_ranks: bool = False  # whether to return the ranks by words alone and by meaning alone
    context: Mapping[int, float] = field(default_factory=dict)
    """Term numbers of words from the context, with their weights."""
    key_terms: Mapping[int, float] = field(default_factory=dict)
    """Term numbers of the words that say what the query is about, with weights; includes ``context``."""


@dataclass(frozen=True, slots=True)
class Found:
    """``N`` matching chunks, best first, as columns, because hundreds are found and few are needed."""

    parts: NDArray[Any]  # int ``[N]``: the index of each chunk's part
    places: NDArray[Any]  # int ``[N]``: its place in the segment
    scores: NDArray[Any]  # float ``[N]``: the sum of its shares, rounded so that ties are equal
    shares: NDArray[Any]  # float ``[8, N]``: the parts of each score, in the order of ``SHARES``
    lexical_ranks: Sequence[int | None]
    """1-based rank by words; ``None`` without any of the words, or without ``with_ranks``."""
    vector_ranks: Sequence[int | None]
    """1-based rank by meaning, among the chunks whose similarity was computed exactly."""
    cosines: NDArray[Any] | None
    """float ``[N]``: similarity to the query; ``None`` if the search was by words alone."""
    relevance: NDArray[Any]  # float ``[N]``, 0 to 1: as in ``SearchResult``

    def __len__(self) -> int:
        return len(self.scores)


SHARES: tuple[ShareName, ...] = (
    *("words", "meaning", "speaker", "date", "neighbours", "session", "recency", "use"),
)
BY_FILE = SHARES.index("session")


def rank(parts: Sequence[Part], sample: Floats, query: Query) -> Found | None:
    """The matching chunks, best first, with ties in order of part and place; ``None`` if there are none.

    ``sample`` is float32 ``[S, D]``: unit vectors that represent those of all chunks.
    """
    speakers = [term for term in query.terms if any(part.is_participant(term) for part in parts)]
    words = bm25.scores_of(
        parts, {**dict.fromkeys(query.terms, 1.0), **dict.fromkeys(speakers, NAME), **query.context}
    )
    best = max((float(each.max(initial=0.0)) for each in words), default=0.0)
    meaning = None
    if query.vector is not None and len(sample):
        meaning = Meaning(query.vector, query.meaning, sample)
    named = numpy.array(speakers, dtype=numpy.uint64)
    per_word = query.words / best if best else 0.0
    speaker_factors = [_speaker_factors(part.segment, named) for part in parts]
    own_scores = []
    for part, by_bm25, speaker_factor in zip(parts, words, speaker_factors, strict=True):
        own = by_bm25 * numpy.float32(per_word)
        if meaning is not None:
            own += meaning.roughly(part.segment)
        own *= speaker_factor
        if query.days:
            own[_in_days(part.segment.days, query)] *= numpy.float32(DATED)
        own_scores.append(own)
    candidates = _candidates(parts, own_scores, max(POOL, 2 * query.limit))
    held = shares(parts, query.key_terms, candidates)
    file_scores = bm25.scores_of_files(parts, query.terms)
    columns = [
        _score_exactly(number, part, by_bm25, own, places, meaning, per_word, speaker_factor, query, *shared)
        for number, (part, by_bm25, own, places, speaker_factor, *shared) in enumerate(
            zip(parts, words, own_scores, candidates, speaker_factors, held, file_scores, strict=True)
        )
        if len(places)
    ]
    if not columns:
        return None
    examined = numpy.concatenate(columns, axis=1)
    scores_found = numpy.round(examined[2], DECIMALS)
    order = numpy.lexsort((examined[1], examined[0], -scores_found))
    order = order[scores_found[order] > 0]
    if len(order) > query.limit:
        # Keep all ties with the last one, or their place in memory would decide which are included.
        order = order[scores_found[order] >= scores_found[order[query.limit - 1]]]
    if not len(order):
        return None
    examined[2] = scores_found
    table = examined[:, order]
    by_words = by_meaning = [None] * len(order)
    if query.with_ranks:
        by_words = _ranks(numpy.concatenate(list(map(_permitted, parts, words))), table[-3])
        if meaning is not None:
            by_meaning = _ranks(examined[-2], table[-2])
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


def _ranks(all_values: Floats, values: Any) -> list[Any]:
    """The 1-based rank of each value among all values; ``None`` for 0."""
    ascending = numpy.sort(all_values[(all_values >= values.min()) & (all_values != 0)])
    above = len(ascending) - numpy.searchsorted(ascending, values.astype(all_values.dtype), side="right")
    return [
        count + 1 if value else None for count, value in zip(above.tolist(), values.tolist(), strict=True)
    ]


def _speaker_factors(segment: Segment, named: NDArray[numpy.uint64]) -> Floats:
    """The factors of all chunks' own scores, given the speakers that a query names."""
    # Taken from a table, since a mask that selects half of the chunks is ten times slower.
    factors = numpy.array([1.0, PERSON], dtype=numpy.float32).take(segment.persons.view(numpy.uint8))
    if len(named):
        spoken = numpy.isin(segment.speakers, named)
        absent = numpy.full(len(segment.files), ABSENT, dtype=numpy.float32)
        absent[segment.owners[spoken]] = 1.0
        factors *= absent[segment.owners]
        factors[spoken] *= numpy.float32(SPEAKER)
    return factors


def _neighbour_scores(segment: Segment, own: Floats, places: Any) -> Any:
    """The weighted sum of each chunk's neighbours' own scores."""
    places_around, in_file = _neighbours(segment, places)
    shares = numpy.repeat(numpy.array(NEIGHBOURS, dtype=numpy.float32), 2)
    # A sum over rows adds them one after another, so the result does not depend on the number of columns.
    return numpy.add.reduce(own.take(places_around, mode="clip") * in_file * shares[:, None], axis=0)


def _with_neighbours(segment: Segment, places: Any, leaders: Any) -> Any:
    """The given places and those of the leaders' neighbours, ascending and distinct."""
    wanted = numpy.zeros(len(segment), dtype=bool)
    wanted[places] = True
    places_around, in_file = _neighbours(segment, leaders)
    wanted[places_around[in_file]] = True
    return numpy.flatnonzero(wanted)


def _neighbours(segment: Segment, places: Any) -> tuple[Any, Any]:
    """The places around some chunks, two rows per weight in ``NEIGHBOURS``, and which are in their file."""
    steps = numpy.array([step for away in range(1, len(NEIGHBOURS) + 1) for step in (-away, away)])
    places_around = places + steps[:, None]
    owners = segment.owners
    within = (places_around >= 0) & (places_around < len(owners))
    return places_around, within & (owners.take(places_around, mode="clip") == owners[places])


def _permitted(part: Part, values: Floats) -> Floats:
    """The values of the chunks that may be results."""
    mask = part.alive if part.allowed is None else part.allowed
    return values if mask is None else values[mask]


def _candidates(parts: Sequence[Part], own_scores: Sequence[Floats], count: int) -> list[Any]:
    """For each part, the places of the chunks to score exactly, chosen among all parts together."""
    masks = [part.alive if part.allowed is None else part.allowed for part in parts]
    sizes = [len(part.segment) for part in parts]
    most = sum(size if mask is None else int(mask.sum()) for size, mask in zip(sizes, masks, strict=True))
    if most <= count:
        return [
            numpy.arange(size) if mask is None else numpy.flatnonzero(mask)
            for size, mask in zip(sizes, masks, strict=True)
        ]
    # Only chunks with good own scores and the neighbours of the best have a chance.
    allowed = [
        own if mask is None else numpy.where(mask, own, numpy.float32(0.0))
        for own, mask in zip(own_scores, masks, strict=True)
    ]
    good = largest_of(allowed, count)
    values = [own[places] for own, places in zip(allowed, good, strict=True)]
    least = least_of_the_best(values, LEADERS)
    wider = [
        _with_neighbours(part.segment, places, places[scores_there >= least])
        for part, places, scores_there in zip(parts, good, values, strict=True)
    ]
    totals = [
        own[places] + _neighbour_scores(part.segment, own, places)
        for part, own, places in zip(parts, own_scores, wider, strict=True)
    ]
    return [places[best] for places, best in zip(wider, largest_of(totals, count), strict=True)]


def _score_exactly(
    number: int,
    part: Part,
    by_bm25: Floats,
    own_scores: Floats,
    places: Any,
    meaning: Meaning | None,
    per_word: float,
    speaker_factor: Floats,
    query: Query,
    share: Floats,
    whole: Floats,
) -> Any:
    """A column for each chunk: part, place, score, ``SHARES``, BM25, similarity, share of the words."""
    segment = part.segment
    words = by_bm25[places] * numpy.float32(per_word) + share * numpy.float32(COVERAGE * query.words)
    similarity = numpy.zeros(len(places), dtype=numpy.float32)
    cosines = similarity
    if meaning is not None:
        cosines = meaning.cosines(segment, places)
        similarity = meaning.of(cosines)
        similarity[segment.scales[places] == 0] = 0.0
    own = words + similarity
    date = nothing = numpy.zeros(len(places), dtype=numpy.float32)
    speaker = own * (speaker_factor[places] - 1)
    own = own + speaker
    if query.days:
        date = numpy.where(_in_days(segment.days[places], query), own * numpy.float32(DATED - 1), nothing)
        own = own + date
    own_scores[places] = own  # from here on only used for neighbours
    around = _neighbour_scores(segment, own_scores, places)
    owners = segment.owners[places]
    session = (_session_means(owners, own) + whole[owners] * numpy.float32(WHOLE)) * numpy.float32(SESSION)
    total = own + around + session
    recency = _recency_loss(part, places, query) * total
    use = _use_gain(part, places) * total
    numbers = numpy.full(len(places), number)
    signals = (words, similarity, speaker, date, around, session, recency, use)
    return numpy.stack([numbers, places, total + recency + use, *signals, by_bm25[places], cosines, share])


def _in_days(days: Ints, query: Query) -> Any:
    """Whether the query mentions each day."""
    found = numpy.zeros(len(days), dtype=bool)
    for first, last in query.days:
        found |= (days >= first) & (days <= last)
    return found


def _recency_loss(part: Part, places: Any, query: Query) -> Any:
    """The share of the score that each chunk loses by age, 0 or negative; undated chunks lose nothing."""
    if part.fading is None or not query.half_life:
        return numpy.zeros(len(places), dtype=numpy.float32)
    days = part.segment.days[places]
    age = numpy.maximum(query.today - days, 0).astype(numpy.float32)
    lost = numpy.float32(RECENCY) * (numpy.exp2(-age / numpy.float32(query.half_life)) - 1)
    return lost * ((days > 0) & part.fading[part.segment.owners[places]])


def _use_gain(part: Part, places: Any) -> Any:
    """The share of the score that each chunk gains from useful references to its file."""
    if part.used is None:
        return numpy.zeros(len(places), dtype=numpy.float32)
    used = part.used[part.segment.owners[places]]
    return numpy.float32(USE) * numpy.minimum(numpy.log2(1 + used), numpy.float32(_MOST_USE))


def _session_means(owners: Any, own: Floats) -> Floats:
    """The mean of the best own scores in each chunk's file; missing ones count as 0."""
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
