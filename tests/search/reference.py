"""Reference implementation of the ranking, chunk by chunk in plain Python, to compare the arrays with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from engine.search import ranking
from engine.search.facts import day_of, speaker_of
from engine.search.ranking import Query
from engine.search.terms import Terms
from tests.search.arrays import ChunkRow, FileRow, term_numbers

FADING = ("conversation", "journal")


@dataclass(slots=True)
class Row:
    """A chunk with its score so far."""

    path: str
    category: str
    place: int
    chunk: ChunkRow
    counts: Counter[int]
    length: float
    bm25: float = 0.0
    cosine: float = 0.0
    own: float = 0.0
    share: float = 0.0
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.shares.values())


def rank(
    files: Sequence[FileRow],
    query: Query,
    terms: Terms,
    *,
    among: Collection[str] | None = None,
    used: Mapping[str, int] | None = None,
) -> list[Row]:
    """Rank the chunks of the files, best first, without those that score zero.

    Args:
        files: All files in memory.
        asked: The query; its terms are numbers of ``terms``.
        terms: Tokenizes texts.
        among: The paths of the files that may be results; all if omitted.
        used: The number of useful references by path.
    """
    rows = [_row(file, place, row, terms) for file in files for place, row in enumerate(file.chunks)]
    named = _named_speakers(rows, query, terms)
    present = {row.path for row in rows if speaker_of(row.chunk.speaker, terms) in named}
    _add_bm25(rows, query, named)
    allowed = [row for row in rows if among is None or row.path in among]
    best = max((row.bm25 for row in allowed), default=0.0) or 1.0
    key_term_shares = _key_term_shares(rows, query)
    file_scores = _file_scores(rows, query, {row.path for row in allowed})
    similarity = _similarities(rows, query)
    for row in rows:
        shares = row.shares
        row.share = key_term_shares[id(row)]
        shares["words"] = query.words * (row.bm25 / best + ranking.COVERAGE * row.share)
        shares["meaning"] = similarity[id(row)]
        own = shares["words"] + shares["meaning"]
        by_speaker = ranking.PERSON if row.chunk.speaker == "user" else 1.0
        if named:
            by_speaker *= 1.0 if row.path in present else ranking.ABSENT
            by_speaker *= ranking.SPEAKER if speaker_of(row.chunk.speaker, terms) in named else 1.0
        shares["speaker"] = own * (by_speaker - 1)
        own += shares["speaker"]
        day = day_of(row.chunk.date)
        is_in_range = any(first <= day <= last for first, last in query.days)
        shares["date"] = own * (ranking.DATED - 1) if is_in_range else 0.0
        row.own = own + shares["date"]
    for row in rows:
        of_file = [other for other in rows if other.path == row.path]
        _add_context(row, of_file, file_scores[row.path], query, used or {})
    found = [row for row in rows if (among is None or row.path in among) and row.total > 0.5e-6]
    return sorted(found, key=lambda row: (-round(row.total, ranking.DECIMALS), row.path, row.place))


def _row(file: FileRow, place: int, row: ChunkRow, terms: Terms) -> Row:
    counts: Counter[int] = Counter()
    for text, weight in zip(row.texts, (5, 4, 5, 1, 1), strict=False):
        for term in term_numbers(terms, text):
            counts[term] += weight
    return Row(file.path, file.category, place, row, counts, min(sum(counts.values()), 65_535) / 5)


def _named_speakers(rows: Sequence[Row], query: Query, terms: Terms) -> set[int]:
    """The query terms that name a person who speaks at least three times in a file."""
    times = Counter((row.path, speaker_of(row.chunk.speaker, terms)) for row in rows)
    return {name for (_, name), number in times.items() if number >= 3 and name in query.terms}


def _add_bm25(rows: Sequence[Row], query: Query, named: Collection[int]) -> None:
    mean = sum(row.length for row in rows) / len(rows) if rows else 0.0
    for term in query.terms:
        holders = [row for row in rows if row.counts[term]]
        idf = math.log(1 + (len(rows) - len(holders) + 0.5) / (len(holders) + 0.5))
        for row in holders:
            times = min(row.counts[term], 255) / 5
            saturation = ranking.K1 * (1 - ranking.B + ranking.B * row.length / mean)
            weight = idf * (ranking.NAME if term in named else 1.0)
            row.bm25 += weight * (ranking.K1 + 1) * times / (times + saturation)


def _key_term_shares(rows: Sequence[Row], query: Query) -> dict[int, float]:
    """The share of the query's key terms that each chunk contains, weighted by rarity."""
    count = len(rows) + ranking.PRIOR
    rarest = math.log(1 + (count - 0.5) / 1.5)
    key_term_shares = {id(row): 0.0 for row in rows}
    total = 0.0
    for term, given in query.key_terms.items():
        holders = [row for row in rows if row.counts[term]]
        idf = math.log(1 + (count - len(holders) + 0.5) / (len(holders) + 0.5))
        weight = given * min(1.0, idf / rarest)
        total += weight
        for row in holders:
            key_term_shares[id(row)] += weight
    return {name: value / max(1.0, total) for name, value in key_term_shares.items()}


def _file_scores(rows: Sequence[Row], query: Query, allowed: Collection[str]) -> dict[str, float]:
    """BM25 of each file as a single text, relative to the best of those allowed."""
    lengths: Counter[str] = Counter()
    for row in rows:
        lengths[row.path] += round(5 * row.length)
    files = [path for path, length in lengths.items() if length]
    scores = dict.fromkeys((row.path for row in rows), 0.0)
    mean = sum(lengths.values()) / len(files) if files else 1.0
    for term in query.terms:
        times: Counter[str] = Counter()
        for row in rows:
            if row.counts[term]:
                times[row.path] += min(min(row.counts[term], 255) / 5, 4.0)  # type: ignore[assignment]
        holders = sum(row.counts[term] > 0 for row in rows)
        idf = math.log(1 + (len(rows) - holders + 0.5) / (holders + 0.5))
        for path, number in times.items():
            floor = ranking.FILE_K1 * (1 - ranking.FILE_B + ranking.FILE_B * lengths[path] / mean)
            scores[path] += idf * number / (number + floor)
    best = max((score for path, score in scores.items() if path in allowed), default=0.0)
    return {path: score / best if best else 0.0 for path, score in scores.items()}


def _similarities(rows: Sequence[Row], query: Query) -> dict[int, float]:
    found = {id(row): 0.0 for row in rows}
    with_vector = [row for row in rows if any(row.chunk.vector)]
    if query.vector is None or not with_vector:
        return found
    for row in with_vector:
        vector = numpy.frombuffer(row.chunk.vector, dtype=numpy.int8).astype(float)
        row.cosine = float(vector @ query.vector.astype(float) / numpy.linalg.norm(vector))
    cosines = [row.cosine for row in with_vector]
    mean = sum(cosines) / len(cosines)
    deviation = math.sqrt(sum((cosine - mean) ** 2 for cosine in cosines) / len(cosines))
    if deviation < 1e-6:
        deviation = 1.0  # All the same: the arrays see noise or nothing.
    for row in with_vector:
        above = (row.cosine - mean) / deviation
        found[id(row)] = max(0.0, query.meaning * above / ranking.DEVIATIONS)
    return found


def _add_context(
    row: Row, file: Sequence[Row], file_score: float, query: Query, used: Mapping[str, int]
) -> None:
    shares = row.shares
    own = {other.place: other.own for other in file}
    shares["neighbours"] = sum(
        share * (own.get(row.place - away, 0.0) + own.get(row.place + away, 0.0))
        for away, share in enumerate(ranking.NEIGHBOURS, 1)
    )
    best = sum(sorted(own.values(), reverse=True)[:3]) / 3
    shares["session"] = ranking.SESSION * (best + ranking.WHOLE * file_score)
    total = row.own + shares["neighbours"] + shares["session"]
    day = day_of(row.chunk.date)
    fades = row.category in FADING and day > 0 and query.half_life > 0
    age = max(0, query.today - day)
    shares["recency"] = -0.1 * total * (1 - 0.5 ** (age / query.half_life)) if fades else 0.0
    shares["use"] = 0.1 * total * min(3.0, math.log2(1 + used.get(row.path, 0)))
