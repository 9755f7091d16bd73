"""One ranking out of two: words and meaning (spec 7.3).

The specification merges ``.4 · words + .6 · meaning``. Three things are settled here so that the sum means
something:

- Word scores (BM25, unbounded) are divided by the best of the query. Meaning is the cosine itself, cut at 0:
  divided by the worst distance at hand, as specified, the score of a text would depend on how many were
  asked for.
- Both scores are known for every candidate, whichever side found it; nothing counts as 0 because the other
  side's list was short.
- Equal scores are ordered by path and line, so the same index gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that words or meaning found."""

    chunk: int
    path: str
    line: int  # with ``path`` and ``chunk`` it orders equals
    bm25: float = 0.0  # above 0; 0 when it holds none of the words
    cosine: float | None = None  # -1 to 1; ``None`` without vectors
    lexical_rank: int | None = None  # 1-based place in the list by words; ``None`` when not in it
    vector_rank: int | None = None  # 1-based place in the list by meaning; ``None`` likewise


def merge(
    candidates: Iterable[Candidate], lexical_weight: float, vector_weight: float
) -> list[tuple[Candidate, float]]:
    """Candidates with the weighted mean of both scores, 0 to 1, best first.

    Weights are at least 0.
    """
    pool = list(candidates)
    if not any(candidate.cosine is not None for candidate in pool):
        lexical_weight, vector_weight = 1.0, 0.0
    total = lexical_weight + vector_weight or 1.0
    best = max((candidate.bm25 for candidate in pool), default=0.0) or 1.0
    ranked: list[tuple[Candidate, float]] = []
    for one in pool:
        lexical, vector = max(one.bm25, 0.0) / best, min(max(one.cosine or 0.0, 0.0), 1.0)
        ranked.append((one, min((lexical_weight * lexical + vector_weight * vector) / total, 1.0)))
    return sorted(ranked, key=lambda each: (-round(each[1], 12), each[0].path, each[0].line, each[0].chunk))
