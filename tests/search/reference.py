"""The ranking in plain Python, one chunk after the other: what the arrays are compared with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy

from engine.search.resident import bm25, meaning, ranking, relevance
from engine.search.resident.ranking import Query
from engine.search.resident.segment import ChunkRow, FileRow, day_of, speaker_of
from engine.search.resident.terms import Terms

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
    asked: Query,
    terms: Terms,
    *,
    among: Collection[str] | None = None,
    used: Mapping[str, int] | None = None,
) -> list[Row]:
    """All chunks of some files that may answer, best first; those without a score are left out.

    Args:
        files: All that are there.
        asked: The query; its terms are numbers of ``terms``.
        terms: Cuts texts.
        among: The paths of the files that may be results; all unless given.
        used: Useful references by path.
    """
    rows = [_row(file, place, row, terms) for file in files for place, row in enumerate(file.chunks)]
    voices = _voices(rows, asked, terms)
    present = {row.path for row in rows if speaker_of(row.chunk.speaker, terms) in voices}
    _words(rows, asked, voices)
    best = max((row.bm25 for row in rows), default=0.0) or 1.0
    held, wholes = _held(rows, asked), _wholes(rows, asked)
    similarity = _meaning(rows, asked)
    for row in rows:
        shares = row.shares
        row.share = held[id(row)]
        shares["words"] = asked.words * (row.bm25 / best + ranking.COVERAGE * row.share)
        shares["meaning"] = similarity[id(row)]
        own = shares["words"] + shares["meaning"]
        by_speaker = ranking.PERSON if row.chunk.speaker == "user" else 1.0
        if voices:
            by_speaker *= 1.0 if row.path in present else ranking.ABSENT
            by_speaker *= ranking.SPEAKER if speaker_of(row.chunk.speaker, terms) in voices else 1.0
        shares["speaker"] = own * (by_speaker - 1)
        own += shares["speaker"]
        day = day_of(row.chunk.date)
        is_asked_for = any(first <= day <= last for first, last in asked.days)
        shares["date"] = own * (ranking.DATED - 1) if is_asked_for else 0.0
        row.own = own + shares["date"]
    for row in rows:
        of_file = [other for other in rows if other.path == row.path]
        _surroundings(row, of_file, wholes[row.path], asked, used or {})
    found = [row for row in rows if (among is None or row.path in among) and row.total > 0.5e-6]
    return sorted(found, key=lambda row: (-round(row.total, ranking.DECIMALS), row.path, row.place))


def _row(file: FileRow, place: int, row: ChunkRow, terms: Terms) -> Row:
    counts: Counter[int] = Counter()
    for text, weight in zip(row.texts, (5, 4, 5, 1, 1), strict=False):
        for term in terms.of(text):
            counts[terms.numbers[term]] += weight
    return Row(file.path, file.category, place, row, counts, min(sum(counts.values()), 65_535) / 5)


def _voices(rows: Sequence[Row], asked: Query, terms: Terms) -> set[int]:
    """The words of a query that name somebody who speaks three times or more in a file."""
    times = Counter((row.path, speaker_of(row.chunk.speaker, terms)) for row in rows)
    return {name for (_, name), number in times.items() if number >= 3 and name in asked.terms}


def _words(rows: Sequence[Row], asked: Query, voices: Collection[int]) -> None:
    mean = sum(row.length for row in rows) / len(rows) if rows else 0.0
    for term in asked.terms:
        holders = [row for row in rows if row.counts[term]]
        idf = math.log(1 + (len(rows) - len(holders) + 0.5) / (len(holders) + 0.5))
        for row in holders:
            times = min(row.counts[term], 255) / 5
            held_back = bm25.K1 * (1 - bm25.B + bm25.B * row.length / mean)
            weight = idf * (ranking.NAME if term in voices else 1.0)
            row.bm25 += weight * (bm25.K1 + 1) * times / (times + held_back)


def _held(rows: Sequence[Row], asked: Query) -> dict[int, float]:
    """Which share of the words that say what is asked for each chunk holds, by their rarity."""
    count = len(rows) + relevance.PRIOR
    rarest = math.log(1 + (count - 0.5) / 1.5)
    held = {id(row): 0.0 for row in rows}
    total = 0.0
    for term, given in asked.key_terms.items():
        holders = [row for row in rows if row.counts[term]]
        idf = math.log(1 + (count - len(holders) + 0.5) / (len(holders) + 0.5))
        weight = given * min(1.0, idf / rarest)
        total += weight
        for row in holders:
            held[id(row)] += weight
    return {name: value / max(1.0, total) for name, value in held.items()}


def _wholes(rows: Sequence[Row], asked: Query) -> dict[str, float]:
    """BM25 of each file as one text, as a share of the best."""
    lengths: Counter[str] = Counter()
    for row in rows:
        lengths[row.path] += round(5 * row.length)
    files = [path for path, length in lengths.items() if length]
    scores = dict.fromkeys((row.path for row in rows), 0.0)
    mean = sum(lengths.values()) / len(files) if files else 1.0
    for term in asked.terms:
        times: Counter[str] = Counter()
        for row in rows:
            if row.counts[term]:
                times[row.path] += min(min(row.counts[term], 255) / 5, 4.0)  # type: ignore[assignment]
        idf = math.log(1 + (len(files) - len(times) + 0.5) / (len(times) + 0.5))
        for path, number in times.items():
            floor = bm25.FILE_K1 * (1 - bm25.FILE_B + bm25.FILE_B * lengths[path] / mean)
            scores[path] += idf * number / (number + floor)
    best = max(scores.values(), default=0.0)
    return {path: score / best if best else 0.0 for path, score in scores.items()}


def _meaning(rows: Sequence[Row], asked: Query) -> dict[int, float]:
    found = {id(row): 0.0 for row in rows}
    with_vector = [row for row in rows if any(row.chunk.vector)]
    if asked.vector is None or not with_vector:
        return found
    for row in with_vector:
        vector = numpy.frombuffer(row.chunk.vector, dtype=numpy.int8).astype(float)
        row.cosine = float(vector @ asked.vector.astype(float) / numpy.linalg.norm(vector))
    cosines = [row.cosine for row in with_vector]
    mean = sum(cosines) / len(cosines)
    deviation = math.sqrt(sum((cosine - mean) ** 2 for cosine in cosines) / len(cosines))
    if deviation < 1e-6:
        deviation = 1.0  # all the same: the arrays see noise or nothing
    for row in with_vector:
        above = (row.cosine - mean) / deviation
        found[id(row)] = max(0.0, asked.meaning * above / meaning.DEVIATIONS)
    return found


def _surroundings(row: Row, file: Sequence[Row], whole: float, asked: Query, used: Mapping[str, int]) -> None:
    shares = row.shares
    own = {other.place: other.own for other in file}
    shares["neighbours"] = sum(
        share * (own.get(row.place - away, 0.0) + own.get(row.place + away, 0.0))
        for away, share in enumerate(ranking.NEIGHBOURS, 1)
    )
    best = sum(sorted(own.values(), reverse=True)[:3]) / 3
    shares["session"] = ranking.SESSION * (best + ranking.WHOLE * whole)
    total = row.own + shares["neighbours"] + shares["session"]
    day = day_of(row.chunk.date)
    fades = row.category in FADING and day > 0 and asked.half_life > 0
    age = max(0, asked.today - day)
    shares["recency"] = -0.1 * total * (1 - 0.5 ** (age / asked.half_life)) if fades else 0.0
    shares["use"] = 0.1 * total * min(3.0, math.log2(1 + used.get(row.path, 0)))
