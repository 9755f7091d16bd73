"""Merges two rankings, by words and by meaning, into one (spec 7.3).

The specification merges ``.4 · words + .6 · meaning``. Three decisions make the sum meaningful:

- Word scores (BM25, unbounded) are divided by the query's best score. Meaning is the cosine itself, cut off
  at 0. Dividing by the worst distance in the list, as specified, would make a text's score depend on how many
  results were requested.
- Both scores are known for every candidate, whichever list it came from; no score counts as 0 just because
  the other list was short.
- Ties are broken by path and line, so that the same index gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.startup.records import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk found by words or by meaning."""

    chunk: int
    path: str
    line: int  # breaks ties, with ``path`` and ``chunk``
    bm25: float = 0.0  # positive, or 0 if it contains none of the words
    cosine: float | None = None  # -1 to 1; ``None`` without vectors
    lexical_rank: int | None = None  # 1-based rank by words; ``None`` if not in that list
    vector_rank: int | None = None  # 1-based rank by meaning; ``None`` if not in that list


def merge(
    candidates: Iterable[Candidate], lexical_weight: float, vector_weight: float
) -> list[tuple[Candidate, float]]:
    """Return the candidates with the weighted mean of both scores, 0 to 1, best first.

    Weights must not be negative.
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
