"""A query answered as the specification says: two lists from the database, merged by weights (spec 7.1)."""

from __future__ import annotations

import json
from dataclasses import replace

import apsw

from engine.search import schema, vectors
from engine.search.described import Chosen, described
from engine.search.fusion import Candidate, merge
from engine.search.query import match_expression
from engine.search.request import Request
from engine.search.results import SearchResult

MIN_DEPTH = 50
"""Fewest candidates taken from each side."""

_MAX_EQUALS = 1000
_MORE_EQUALS = 50
_EQUAL = 1e-11
"""Word scores that are nearer to each other, as a share of the best, count as equal: ``merge`` rounds."""

_RANK = f"bm25({', '.join(map(str, schema.BM25_WEIGHTS))})"


def answer(
    connection: apsw.Connection, asked: Request, vector: bytes, weights: tuple[float, float]
) -> list[SearchResult]:
    """The best chunks, best first.

    The connection is within one view of the database, with sqlite-vec where there is a vector: a packed one,
    or ``b""`` to search by words alone. Weights are those of ``fusion.merge``.

    Raises:
        apsw.Error: The database is damaged.
    """
    depth = max(2 * asked.limit, MIN_DEPTH)
    # Without meaning nothing can come up from below the results.
    enough = depth if vector else asked.limit
    found = {candidate.chunk: candidate for candidate in _by_words(connection, asked, depth, enough)}
    if vector:
        for candidate in _by_meaning(connection, asked, vector, depth):
            other = found.get(candidate.chunk)
            found[candidate.chunk] = (
                replace(other, cosine=candidate.cosine, vector_rank=candidate.vector_rank)
                if other
                else candidate
            )
        _complete(connection, asked, vector, found)
    ranked = merge(found.values(), *weights)[: asked.limit]
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
    return described(connection, chosen, asked.terms, depth, in_full=asked.in_full)


def _by_words(connection: apsw.Connection, asked: Request, depth: int, enough: int) -> list[Candidate]:
    # FTS5 sorts by rank by itself; reading stops when there are enough, so that the join stays cheap.
    rows = connection.execute(
        "SELECT chunks.id, chunk_words.rank, files.path, chunks.start_line FROM chunk_words"
        " CROSS JOIN chunks ON chunks.id = chunk_words.rowid CROSS JOIN files ON files.id = chunks.file_id"
        f" WHERE chunk_words MATCH ?1 AND chunk_words.rank MATCH '{_RANK}'"
        " AND (?2 IS NULL OR files.category = ?2) ORDER BY chunk_words.rank",
        (match_expression(asked.terms), asked.category),
    )
    found: list[tuple[float, str, int, int]] = []
    exclude, most = asked.exclude, depth + _MAX_EQUALS
    for chunk, rank, path, line in rows:
        if path in exclude:
            continue
        # Equals of the last one are read to the end, or their order in the database would decide who is in.
        if len(found) >= enough and (rank - found[-1][0] > -_EQUAL * found[0][0] or len(found) >= most):
            break
        found.append((rank, path, line, chunk))
    found.sort()
    return [
        Candidate(chunk, path, line, bm25=-rank, lexical_rank=place)
        for place, (rank, path, line, chunk) in enumerate(found[:depth], 1)
    ]


def _by_meaning(connection: apsw.Connection, asked: Request, vector: bytes, depth: int) -> list[Candidate]:
    # A few more than asked for: among equals the path decides who is in, not the order in the database.
    rows = vectors.nearest(
        connection, vector, depth + _MORE_EQUALS, category=asked.category, exclude=asked.exclude
    )
    found = [Candidate(chunk, path, line, cosine=cosine) for chunk, cosine, path, line in rows]
    found.sort(key=lambda one: (-(one.cosine or 0.0), one.path, one.line, one.chunk))
    return [replace(one, vector_rank=rank) for rank, one in enumerate(found[:depth], 1)]


def _complete(
    connection: apsw.Connection, asked: Request, vector: bytes, found: dict[int, Candidate]
) -> None:
    """Give every candidate the score of the side that did not list it."""
    unlike = [chunk for chunk, candidate in found.items() if candidate.cosine is None]
    for chunk, cosine in vectors.cosines(connection, vector, unlike).items():
        found[chunk] = replace(found[chunk], cosine=cosine)
    unsaid = [chunk for chunk, candidate in found.items() if candidate.lexical_rank is None]
    # The plus sign hides the row ids from FTS5, which would otherwise start over for each: 17 times slower.
    rows = connection.execute(
        f"SELECT rowid, rank FROM chunk_words WHERE chunk_words MATCH ? AND rank MATCH '{_RANK}'"
        " AND +rowid IN (SELECT value FROM json_each(?))",
        (match_expression(asked.terms), json.dumps(unsaid)),
    )
    for chunk, rank in rows:
        found[chunk] = replace(found[chunk], bm25=-rank)
