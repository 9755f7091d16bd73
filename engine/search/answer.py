"""Answers a query: the index names candidates, the ranking orders them (spec 7.1, 7.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from engine.search import matches, ranking
from engine.search.dates import days_in
from engine.search.query import literal_terms
from engine.search.ranking import BY_FILE, SHARES, Found, Query, context_weights
from engine.search.results import SearchResult, Share, explain_shares
from engine.search.scripts import searchable
from engine.search.state import Scope, Word
from engine.search.talk import telling
from engine.search.worth import CHARACTERS_PER_TOKEN, Offers, in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.request import Request
    from engine.search.state import State
    from engine.search.table import Corpus, Floats, Table
    from engine.settings.model import SearchSettings

BY_WORDS, BY_MEANING = 400, 300
"""Numbers of candidates. An index with no more chunks than both together is ranked whole."""
LEADERS = 64
"""So many of the first candidates by words, and by meaning, bring their neighbours."""
SHORT = 50
"""For a list of at most this many results, half of each is enough."""

_LEAST_SHARE = 0.0005


def answer(
    state: State,
    numbers_of: Callable[[str], Sequence[int]],
    request: Request,
    vector: Floats | None,
    settings: SearchSettings,
    references: Mapping[str, int],
) -> list[SearchResult]:
    """The best chunks, best first; scores are relative to the best one.

    Args:
        numbers_of: The term numbers of a word.
        vector: The query's unit vector, float32 ``[D]``, from the index's model; ``None`` to search by words
            alone.
        references: The number of useful references by path.

    Raises:
        apsw.Error: The index is damaged.
    """
    asked = {word: numbers_of(word) for word in request.terms}
    around = literal_terms(request.context) if request.context else ()
    beside = {word: numbers_of(word) for word in telling(around) if word not in asked}
    terms = _distinct(asked, asked)
    corpus = state.corpus(_distinct(asked | beside, asked | beside), with_sample=vector is not None)
    key_terms = _distinct(asked, telling(request.terms))
    weights = context_weights(corpus, key_terms, _distinct(beside, beside))
    query = Query(
        terms=terms,
        vector=vector,
        limit=request.limit,
        words=settings.bm25_weight,
        meaning=settings.vector_weight,
        days=[
            (each.first.toordinal(), each.last.toordinal()) for each in days_in(request.query, request.today)
        ],
        today=request.today.toordinal(),
        half_life=settings.half_life_days,
        with_ranks=request.in_full,
        context=weights,
        key_terms={**dict.fromkeys(key_terms, 1.0), **weights},
    )
    counted = {word: numbers for word, numbers in beside.items() if not weights.keys().isdisjoint(numbers)}
    scope = Scope(request.category, request.exclude)
    table = _candidates(state, corpus, _words(corpus, asked | counted), query, scope)
    found = ranking.rank(table, corpus, query, references)
    if found is None:
        return []
    order = numpy.arange(len(found))
    if request.room is not None:
        order = numpy.array(in_order(_offers(found, table, request.room.own), request.room))
    return _described(state, found, table, order, request.terms, in_full=request.in_full)


def _distinct(numbers: Mapping[str, Sequence[int]], words: Sequence[str] | Mapping[str, object]) -> list[int]:
    return list(dict.fromkeys(number for word in words for number in numbers[word]))


def _words(corpus: Corpus, asked: Mapping[str, Sequence[int]]) -> list[Word]:
    """The words that are in some chunk, with a bound to the number of chunks."""
    rarest = {word: min(numbers, key=corpus.holders) for word, numbers in asked.items() if numbers}
    found = [
        Word(searchable(word, asked=True), corpus.holders(number), number) for word, number in rarest.items()
    ]
    return [word for word in found if word.held]


def _candidates(state: State, corpus: Corpus, words: Sequence[Word], query: Query, scope: Scope) -> Table:
    leaders: list[int] = []
    part = 2 if query.limit <= SHORT else 1
    if corpus.chunks <= BY_WORDS + BY_MEANING:
        chunks = state.all()
    else:
        chunks = state.by_words(words, BY_WORDS // part, scope)
        leaders = chunks[: LEADERS // part]
        if query.vector is not None and len(corpus.sample):
            near = state.by_vector(query.vector, BY_MEANING // part, scope)
            leaders = [*leaders, *near[: LEADERS // part]]
            chunks = [*chunks, *near]
    return state.table(chunks, leaders, [term for term in query.terms if term in corpus.speakers], scope)


def _offers(found: Found, table: Table, own: str) -> Offers:
    best = found.scores[0]
    return Offers(
        files=table.owners[found.places],
        own=next((place for place, file in enumerate(table.files) if file.path == own), -1),
        scores=found.scores / best,
        by_file=found.shares[BY_FILE] / best,
        relevance=found.relevance,
        kinds=table.kinds[found.places],
        tokens=table.sizes[found.places] // CHARACTERS_PER_TOKEN,
    )


def _described(
    state: State, found: Found, table: Table, order: NDArray[Any], terms: Sequence[str], *, in_full: bool
) -> list[SearchResult]:
    """The results in an order, with texts from the index.

    Args:
        in_full: ``False`` omits snippets and explanations, since a prompt considers hundreds of results.

    Raises:
        apsw.Error: The index is damaged: a chunk is missing or differs from what was written.
    """
    best = float(found.scores[0])
    chunks = table.chunks[found.places[order]].tolist()
    texts = state.texts(chunks)
    finder = matches.Finder(terms) if in_full else None
    results: list[SearchResult] = []
    for place, chunk, owner, score, shares, relevance in zip(
        order.tolist(),
        chunks,
        table.owners[found.places[order]].tolist(),
        (found.scores[order] / best).tolist(),
        _shares(found.shares[:, order] / best),
        found.relevance[order].tolist(),
        strict=True,
    ):
        file, text = table.files[owner], texts[chunk]
        results.append(
            SearchResult(
                path=file.path,
                start_line=text.start_line,
                end_line=text.end_line,
                category=file.category,
                heading=text.heading,
                date=text.date,
                snippet="" if finder is None else matches.snippet(text.text, finder.find(text.text)),
                text=text.text,
                score=score,
                lexical_rank=found.lexical_ranks[place],
                vector_rank=found.vector_ranks[place],
                source="index",
                why="" if finder is None else explain_shares(shares),
                shares=shares,
                speaker=text.speaker,
                relevance=relevance,
            )
        )
    return results


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
