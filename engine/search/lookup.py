"""Answers a query as specified: two ranked lists from the database, merged by weight (spec 7.1)."""

from __future__ import annotations

import json
from dataclasses import replace

import apsw

from engine.search import schema, vectors
from engine.search.described import Chosen, describe
from engine.search.fusion import Candidate, merge
from engine.search.query import match_expression
from engine.search.request import Request
from engine.search.results import SearchResult

MIN_DEPTH = 50
"""Minimum number of candidates from each list."""

_MAX_TIES = 1000
_EXTRA_TIES = 50
_TIE = 1e-11
"""Word scores that differ by less than this share of the best count as equal, because ``merge`` rounds."""

_RANK = f"bm25({', '.join(map(str, schema.BM25_WEIGHTS))})"


def answer(
    connection: apsw.Connection, request: Request, vector: bytes, weights: tuple[float, float]
) -> list[SearchResult]:
    """The best chunks, best first.

    Args:
        connection: In a transaction; with sqlite-vec loaded if there is a vector.
        vector: The packed query vector; ``b""`` to search by words alone.
        weights: As in ``fusion.merge``.

    Raises:
        apsw.Error: The database is damaged.
    """
    depth = max(2 * request.limit, MIN_DEPTH)
    # Without vectors, a chunk ranked below the limit cannot become a result.
    enough = depth if vector else request.limit
    found = {candidate.chunk: candidate for candidate in _by_words(connection, request, depth, enough)}
    if vector:
        for candidate in _by_meaning(connection, request, vector, depth):
            other = found.get(candidate.chunk)
            found[candidate.chunk] = (
                replace(other, cosine=candidate.cosine, vector_rank=candidate.vector_rank)
                if other
                else candidate
            )
        _complete(connection, request, vector, found)
    ranked = merge(found.values(), *weights)[: request.limit]
    categories = dict(
        connection.execute(
            "SELECT path, category FROM files WHERE path IN (SELECT value FROM json_each(?))",
            (json.dumps([one.path for one, _ in ranked]),),
        )
    )
    chosen = [
        Chosen(
            one.chunk,
            (one.path, categories[one.path]),
            score,
            one.lexical_rank,
            one.vector_rank,
            one.cosine,
        )
        for one, score in ranked
    ]
    return describe(connection, chosen, request.terms, depth, in_full=request.in_full)


def _by_words(connection: apsw.Connection, request: Request, depth: int, enough: int) -> list[Candidate]:
    # FTS5 returns the rows sorted by rank, so reading can stop early, which keeps the join cheap.
    rows = connection.execute(
        "SELECT chunks.id, chunk_words.rank, files.path, chunks.start_line FROM chunk_words"
        " CROSS JOIN chunks ON chunks.id = chunk_words.rowid CROSS JOIN files ON files.id = chunks.file_id"
        f" WHERE chunk_words MATCH ?1 AND chunk_words.rank MATCH '{_RANK}'"
        " AND (?2 IS NULL OR files.category = ?2) ORDER BY chunk_words.rank",
        (match_expression(request.terms), request.category),
    )
    found: list[tuple[float, str, int, int]] = []
    exclude, most = request.exclude, depth + _MAX_TIES
    for chunk, rank, path, line in rows:
        if path in exclude:
            continue
        # Ties with the last one are all read, or their order in the database would decide which are included.
        if len(found) >= enough and (rank - found[-1][0] > -_TIE * found[0][0] or len(found) >= most):
            break
        found.append((rank, path, line, chunk))
    found.sort()
    return [
        Candidate(chunk, path, line, bm25=-rank, lexical_rank=place)
        for place, (rank, path, line, chunk) in enumerate(found[:depth], 1)
    ]


def _by_meaning(connection: apsw.Connection, request: Request, vector: bytes, depth: int) -> list[Candidate]:
    # Fetch a few more, so that ties are broken by path and not by the order in the database.
    rows = vectors.nearest(
        connection, vector, depth + _EXTRA_TIES, category=request.category, exclude=request.exclude
    )
    found = [Candidate(chunk, path, line, cosine=cosine) for chunk, cosine, path, line in rows]
    found.sort(key=lambda one: (-(one.cosine or 0.0), one.path, one.line, one.chunk))
    return [replace(one, vector_rank=rank) for rank, one in enumerate(found[:depth], 1)]


def _complete(
    connection: apsw.Connection, request: Request, vector: bytes, found: dict[int, Candidate]
) -> None:
    """Compute each candidate's missing score, for the list that it is not in."""
    no_cosine = [chunk for chunk, candidate in found.items() if candidate.cosine is None]
    for chunk, cosine in vectors.cosines(connection, vector, no_cosine).items():
        found[chunk] = replace(found[chunk], cosine=cosine)
    no_bm25 = [chunk for chunk, candidate in found.items() if candidate.lexical_rank is None]
    # The plus sign hides the row ids from FTS5, which would otherwise restart the query for each: 17 times
    # slower.
    rows = connection.execute(
        f"SELECT rowid, rank FROM chunk_words WHERE chunk_words MATCH ? AND rank MATCH '{_RANK}'"
        " AND +rowid IN (SELECT value FROM json_each(?))",
        (match_expression(request.terms), json.dumps(no_bm25)),
    )
    for chunk, rank in rows:
        found[chunk] = replace(found[chunk], bm25=-rank)
