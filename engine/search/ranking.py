"""Ranks the chunks for a query, by words, by meaning and by their surroundings (spec 7.3).

A chunk's own score is ``words + meaning``. Words are BM25 divided by the query's best, plus the share of the
query's words that the chunk contains. Meaning is how much closer its vector is to the query's than the
average chunk's vector, in standard deviations. The answer to a question is often in the turn next to the one
with its words, and rarely in a session about something else, so neighbours and the best chunks of the session
add part of their own scores.

Only chunks that an engine named are ranked: those with the query's rarest words, those with the nearest
vectors, and the neighbours of the best. Their scores are exact. (On labelled questions, 400 candidates lose
nothing against all chunks: recall@10 .700 both, and .693 against .689 among 85,000 foreign passages.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy

from engine.search.table import FADING
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.results import ShareName
    from engine.search.table import Corpus, Floats, Ints, Table


PRIOR = 100
"""Virtual chunks without any of the words, because rarity cannot be estimated from a few chunks."""
ALONE = 0.4
"""Weight of the similarity if no word is shared. At .5, text that only resembles words would be admitted."""
CONTEXT_TERMS = 12
"""Number of words from the context that count, the rarest."""
CONTEXT = 0.25
"""Their total weight relative to the query's words; more if the query says little."""
SAID_ENOUGH = 2.0
"""A query with this total rarity needs no context; the rarest word counts 1."""


class Rarity:
    """The rarity of words, by how few chunks contain them."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._count = PRIOR + corpus.chunks
        self._rarest = math.log1p((self._count - 0.5) / 1.5)

    def of(self, term: int) -> float:
        """From 0, for a word in every chunk, to 1, for a word in at most one chunk."""
        held = self._corpus.holders(term)
        return min(1.0, math.log1p((self._count - held + 0.5) / (held + 0.5)) / self._rarest)


def context_weights(corpus: Corpus, terms: Sequence[int], context: Sequence[int]) -> dict[int, float]:
    """The words from the context that count, with their weights; the query's own words have weight 1.

    Words are distinct term numbers.
    """
    rarity = Rarity(corpus)
    own = frozenset(terms)
    known = [(rarity.of(term), term) for term in context if term not in own and corpus.holders(term)]
    chosen = sorted(known, key=lambda each: -each[0])[:CONTEXT_TERMS]
    own_total, added = sum(map(rarity.of, terms)), sum(value for value, _ in chosen)
    weight = min(1.0, max(CONTEXT * own_total, SAID_ENOUGH - own_total) / added) if added else 0.0
    return {term: weight for _, term in chosen}


def shares(table: Table, corpus: Corpus, terms: Mapping[int, float]) -> Floats:
    """The share of a query's words, weighted by rarity, that each chunk contains, float32 ``[N]``.

    ``terms`` maps the words to their weights.
    """
    rarity = Rarity(corpus)
    held = numpy.zeros(len(table), dtype=numpy.float32)
    total = 0.0
    for term, given in terms.items():
        weight = given * rarity.of(term)
        total += weight
        held[table.postings(term)[0]] += numpy.float32(weight)
    # A query of common words alone counts as having at least one rare word.
    return held / numpy.float32(max(total, 1.0))


def relevance(held: Floats, cosines: Floats | None) -> Any:
    """How certainly chunks are related to a query, 0 to 1, on the same scale for every query and memory.

    A score ranks the chunks of one query but does not say whether any of them answers it, since there is
    always a best one. This is the mean of two measures that do: the share of the query's words that are in
    the chunk, weighted by their rarity whatever else is in the memory, and the similarity of the vectors. For
    questions asked of their own memory and of another one, the area under the curve is .94 for chats between
    people, .90 for long chats with an assistant and .98 for coding sessions. Its distribution differs between
    them, so a threshold that rarely loses an answer still admits many chunks that answer nothing.
    """
    if cosines is None:
        return held
    similarity = numpy.maximum(cosines, 0.0)
    return numpy.where(held > 0, (held + similarity) / 2, ALONE * similarity)


K1 = 0.8
B = 0.75
"""BM25 parameters: how quickly repeated words saturate, and how much long chunks are penalized."""

FILE_K1 = 2.0
FILE_B = 0.6
"""The same for files as a whole."""
_MOST_TIMES = 4.0
"""How often a word counts for its file at most, in each of its chunks."""


def scores_of(table: Table, corpus: Corpus, terms: Mapping[int, float]) -> Floats:
    """BM25 of every chunk, float32 ``[N]``. ``terms`` maps term numbers to weights."""
    scores = numpy.zeros(len(table), dtype=numpy.float32)
    # Counts and lengths are in fifths.
    floors = 5 * K1 * (1 - B + B * table.lengths * (corpus.chunks / max(corpus.length, 1)))
    floors = floors.astype(numpy.float32)
    for term, weight in terms.items():
        places, times = table.postings(term)
        if len(places):
            factor = numpy.float32(weight * idf(corpus, term) * (K1 + 1))
            scores[places] += factor * (times / (times + floors[places]))
    return scores


def scores_of_files(table: Table, corpus: Corpus, terms: Sequence[int]) -> Floats:
    """BM25 of every file as one text, of which the chunks of the table are known, relative to the best,
    float32 ``[F]``. ``terms`` are distinct term numbers.
    """
    scores = numpy.zeros(len(table.files), dtype=numpy.float32)
    extents = numpy.array([file.extent for file in table.files])
    floors = FILE_K1 * (1 - FILE_B + FILE_B * extents * (corpus.files / max(corpus.length, 1)))
    for term in terms:
        places, times = table.postings(term)
        if len(places):
            owners = table.owners[places]
            found = numpy.bincount(owners, numpy.minimum(times / 5, _MOST_TIMES), len(scores))
            scores += (idf(corpus, term) * found / (found + floors)).astype(numpy.float32)
    best = scores.max(initial=0.0)
    return scores / best if best else scores


def idf(corpus: Corpus, term: int) -> float:
    """The weight of a term by how few chunks contain it."""
    held = corpus.holders(term)
    return math.log1p((max(corpus.chunks - held, 0) + 0.5) / (held + 0.5))


COVERAGE = 0.2
"""Weight of the share of the query's words that a chunk contains, however often."""
NEIGHBOURS = (0.3, 0.2, 0.1)
"""Weights of the own scores of chunks one, two and three places away in the same file."""
SESSION = 0.8
"""Weight of the mean of the best own scores in the file."""
SESSION_BEST = 3
WHOLE = 0.2
"""Weight of the file scored as one text, added to that mean: a question's words may be scattered. (Of 120
commits, 109 find something of the session that made them in 2,048 tokens, and 106 without.)"""
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
DEVIATIONS = 6.0
"""This many standard deviations above the mean are a similarity of 1."""
RECENCY = 0.1
"""Share of the final score that old text in a fading category loses at most; half after the half-life."""
USE = 0.1
"""Share of the final score gained by one useful reference; doubled for three, tripled for seven or more."""
_MOST_USE = 3.0
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

    places: NDArray[Any]  # int ``[N]``: the place of each chunk in the table
    scores: NDArray[Any]  # float ``[N]``: the sum of its shares, rounded so that ties are equal
    shares: NDArray[Any]  # float ``[8, N]``: the parts of each score, in the order of ``SHARES``
    lexical_ranks: Sequence[int | None]
    """1-based rank by words among the chunks of the table; ``None`` without any of the words, or without
    ``with_ranks``."""
    vector_ranks: Sequence[int | None]
    """The same by meaning."""
    relevance: NDArray[Any]  # float ``[N]``, 0 to 1: as in ``SearchResult``

    def __len__(self) -> int:
        return len(self.scores)


SHARES: tuple[ShareName, ...] = (
    *("words", "meaning", "speaker", "date", "neighbours", "session", "recency", "use"),
)
BY_FILE = SHARES.index("session")


def rank(table: Table, corpus: Corpus, query: Query, used: Mapping[str, int] | None = None) -> Found | None:
    """The matching chunks of a table, best first, with ties in their order; ``None`` if there are none.

    ``used`` is the number of useful references by path.
    """
    if not len(table):
        return None
    named = [term for term in query.terms if term in corpus.speakers]
    by_bm25 = scores_of(
        table,
        corpus,
        {**dict.fromkeys(query.terms, 1.0), **dict.fromkeys(named, NAME), **query.context},
    )
    best = float(by_bm25.max(initial=0.0))
    share = shares(table, corpus, query.key_terms)
    words = by_bm25 * numpy.float32(query.words / best if best else 0.0)
    words += share * numpy.float32(COVERAGE * query.words)
    similarity, cosines = numpy.zeros(len(table), dtype=numpy.float32), None
    if query.vector is not None and len(corpus.sample):
        cosines = similarities_of(table, query.vector)
        similarity = scores_by_meaning(table, cosines, query.vector, query.meaning, corpus.sample)
    own = words + similarity
    speaker = own * (_speaker_factors(table, named) - 1)
    own = own + speaker
    date = own * (numpy.float32(DATED - 1) * _in_days(table.days, query))
    own = own + date
    around = _neighbour_scores(table, own)
    whole = scores_of_files(table, corpus, query.terms)
    session = (_session_means(table.owners, own) + whole[table.owners] * numpy.float32(WHOLE)) * SESSION
    total = own + around + session.astype(numpy.float32)
    recency = _recency_loss(table, query) * total
    use = _use_gain(table, used or {}) * total
    signals = (words, similarity, speaker, date, around, session, recency, use)
    return _found(table, query, total + recency + use, numpy.stack(signals), by_bm25, cosines, share)


def similarities_of(table: Table, vector: Floats) -> Floats:
    """The similarity of every chunk to a unit vector, float32 ``[N]``; 0 for a chunk without a vector."""
    # Not ``rows @ vector``, whose summation order for a row depends on its place among the rows.
    found: Floats = numpy.einsum("ij,j->i", table.vectors, vector) * table.scales
    return found


def scores_by_meaning(table: Table, cosines: Floats, vector: Floats, weight: float, sample: Floats) -> Floats:
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


def _found(
    table: Table,
    query: Query,
    scores: Floats,
    signals: NDArray[Any],
    by_bm25: Floats,
    cosines: Floats | None,
    share: Floats,
) -> Found | None:
    scores = numpy.round(scores.astype(float), DECIMALS)
    order = numpy.argsort(-scores, kind="stable")
    order = order[scores[order] > 0][: query.limit]
    if not len(order):
        return None
    by_words = by_meaning = [None] * len(order)
    if query.with_ranks:
        by_words = _ranks(by_bm25, order)
        if cosines is not None:
            by_meaning = _ranks(cosines, order)
    near = None if cosines is None else cosines[order].astype(float)
    return Found(
        places=order,
        scores=scores[order],
        shares=signals[:, order].astype(float),
        lexical_ranks=by_words,
        vector_ranks=by_meaning,
        relevance=relevance(share[order].astype(float), near),
    )


def _ranks(values: Floats, places: Any) -> list[Any]:
    """The 1-based ranks of some values among all of them; ``None`` for 0."""
    ascending = numpy.sort(values[values != 0])
    above = len(ascending) - numpy.searchsorted(ascending, values[places], side="right")
    return [
        count + 1 if value else None
        for count, value in zip(above.tolist(), values[places].tolist(), strict=True)
    ]


def _speaker_factors(table: Table, named: Sequence[int]) -> Floats:
    """The factors of all chunks' own scores, given the speakers that a query names."""
    factors = numpy.where(table.persons, numpy.float32(PERSON), numpy.float32(1.0))
    if named:
        wanted = frozenset(named)
        absent = numpy.array([not wanted.isdisjoint(file.names) or ABSENT for file in table.files])
        factors *= absent.astype(numpy.float32)[table.owners]
        factors[numpy.isin(table.names, named)] *= numpy.float32(SPEAKER)
    return factors


def _neighbour_scores(table: Table, own: Floats) -> Floats:
    """The weighted sum of each chunk's neighbours' own scores."""
    found = numpy.zeros(len(table), dtype=numpy.float32)
    # A neighbour may be absent from the table, and its place be another's.
    for away, weight in enumerate(NEIGHBOURS, 1):
        for step in range(1, min(away, len(table) - 1) + 1):
            near = table.owners[step:] == table.owners[:-step]
            near &= table.positions[step:] - table.positions[:-step] == away
            found[step:] += numpy.float32(weight) * near * own[:-step]
            found[:-step] += numpy.float32(weight) * near * own[step:]
    return found


def _in_days(days: Ints, query: Query) -> Any:
    """Whether the query mentions each day."""
    found = numpy.zeros(len(days), dtype=bool)
    for first, last in query.days:
        found |= (days >= first) & (days <= last)
    return found


def _recency_loss(table: Table, query: Query) -> Any:
    """The share of the score that each chunk loses by age, 0 or negative; undated chunks lose nothing."""
    if not query.half_life:
        return numpy.float32(0.0)
    fading = numpy.array([file.category in FADING for file in table.files], dtype=bool)[table.owners]
    age = numpy.maximum(query.today - table.days, 0).astype(numpy.float32)
    lost = numpy.float32(RECENCY) * (numpy.exp2(-age / numpy.float32(query.half_life)) - 1)
    return lost * ((table.days > 0) & fading)


def _use_gain(table: Table, used: Mapping[str, int]) -> Any:
    """The share of the score that each chunk gains from useful references to its file."""
    times = numpy.array([used.get(file.path, 0) for file in table.files], dtype=numpy.float32)
    gain = numpy.float32(USE) * numpy.minimum(numpy.log2(1 + times), numpy.float32(_MOST_USE))
    return gain[table.owners]


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
