"""A query answered from the database: found by words and by meaning, merged, described (spec 7.1, 7.3)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import apsw

from engine.search import matches, schema, vectors
from engine.search.fusion import Candidate, Ranked, merge
from engine.search.query import match_expression
from engine.search.results import Category, SearchResult

MIN_DEPTH = 50
"""Fewest candidates taken from each side."""

_MAX_EQUALS = 1000
_MORE_EQUALS = 50
_EQUAL = 1e-11
"""Word scores that are nearer to each other, as a share of the best, count as equal: ``merge`` rounds."""

_RANK = f"bm25({', '.join(map(str, schema.BM25_WEIGHTS))})"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the database.

    Attributes:
        terms: The literal words, at least one.
        vector: The query as a packed vector; ``b""`` to search by words alone.
        limit: Results wanted.
        category: Only files of this category; ``None`` for all.
        exclude: Paths of files left out.
        lexical_weight: As in ``fusion.merge``.
        vector_weight: As in ``fusion.merge``.
    """

    terms: tuple[str, ...]
    vector: bytes
    limit: int
    category: Category | None
    exclude: Collection[str]
    lexical_weight: float
    vector_weight: float

    @property
    def depth(self) -> int:
        """Candidates taken from each side."""
        return max(2 * self.limit, MIN_DEPTH)


def answer(connection: apsw.Connection, question: Question) -> list[SearchResult]:
    """The best chunks, best first.

    Args:
        connection: Within one view of the database; with sqlite-vec where the question has a vector.
        question: What is asked.

    Raises:
        apsw.Error: The database is damaged.
    """
    found = {candidate.chunk: candidate for candidate in _by_words(connection, question)}
    if question.vector:
        for candidate in _by_meaning(connection, question):
            other = found.get(candidate.chunk)
            found[candidate.chunk] = (
                replace(other, cosine=candidate.cosine, vector_rank=candidate.vector_rank)
                if other
                else candidate
            )
        _complete(connection, question, found)
    ranked = merge(found.values(), question.lexical_weight, question.vector_weight)[: question.limit]
    return _described(connection, question, ranked)


def _by_words(connection: apsw.Connection, question: Question) -> list[Candidate]:
    # FTS5 sorts by rank by itself; reading stops when there are enough, so that the join stays cheap.
    rows = connection.execute(
        "SELECT chunks.id, chunk_words.rank, files.path, chunks.start_line FROM chunk_words"
        " CROSS JOIN chunks ON chunks.id = chunk_words.rowid CROSS JOIN files ON files.id = chunks.file_id"
        f" WHERE chunk_words MATCH ?1 AND chunk_words.rank MATCH '{_RANK}'"
        " AND (?2 IS NULL OR files.category = ?2) ORDER BY chunk_words.rank",
        (match_expression(question.terms), question.category),
    )
    found: list[tuple[float, str, int, int]] = []
    exclude, most = question.exclude, question.depth + _MAX_EQUALS
    # Without meaning nothing can come up from below the results.
    enough = question.depth if question.vector else question.limit
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
        for place, (rank, path, line, chunk) in enumerate(found[: question.depth], 1)
    ]


def _by_meaning(connection: apsw.Connection, question: Question) -> list[Candidate]:
    # A few more than asked for: among equals the path decides who is in, not the order in the database.
    rows = vectors.nearest(
        connection,
        question.vector,
        question.depth + _MORE_EQUALS,
        category=question.category,
        exclude=question.exclude,
    )
    found = [Candidate(chunk, path, line, cosine=cosine) for chunk, cosine, path, line in rows]
    found.sort(key=lambda one: (-(one.cosine or 0.0), one.path, one.line, one.chunk))
    return [replace(one, vector_rank=rank) for rank, one in enumerate(found[: question.depth], 1)]


def _complete(connection: apsw.Connection, question: Question, found: dict[int, Candidate]) -> None:
    """Give every candidate the score of the side that did not list it."""
    unlike = [chunk for chunk, candidate in found.items() if candidate.cosine is None]
    for chunk, cosine in vectors.cosines(connection, question.vector, unlike).items():
        found[chunk] = replace(found[chunk], cosine=cosine)
    unsaid = [chunk for chunk, candidate in found.items() if candidate.lexical_rank is None]
    # The plus sign hides the row ids from FTS5, which would otherwise start over for each: 17 times slower.
    rows = connection.execute(
        f"SELECT rowid, rank FROM chunk_words WHERE chunk_words MATCH ? AND rank MATCH '{_RANK}'"
        " AND +rowid IN (SELECT value FROM json_each(?))",
        (match_expression(question.terms), json.dumps(unsaid)),
    )
    for chunk, rank in rows:
        found[chunk] = replace(found[chunk], bm25=-rank)


def _described(
    connection: apsw.Connection, question: Question, ranked: Sequence[Ranked]
) -> list[SearchResult]:
    rows = connection.execute(
        "SELECT chunks.id, files.category, chunks.end_line, chunks.heading, chunks.date, chunks.about,"
        " chunks.text"
        " FROM chunks JOIN files ON files.id = chunks.file_id"
        " WHERE chunks.id IN (SELECT value FROM json_each(?))",
        (json.dumps([one.candidate.chunk for one in ranked]),),
    )
    described = {row[0]: row[1:] for row in rows}
    finder = matches.Finder(question.terms, matches.stemmer(connection))
    results: list[SearchResult] = []
    for one in ranked:
        category, end, heading, date, about, text = described[one.candidate.chunk]
        within = finder.find(text)
        all_within = len(within.terms) == len(question.terms)
        around = () if all_within else finder.find(f"{heading} {about}").terms
        results.append(
            SearchResult(
                path=one.candidate.path,
                start_line=one.candidate.line,
                end_line=end,
                category=category,
                heading=heading,
                date=date,
                snippet=matches.snippet(text, within),
                text=text,
                score=one.score,
                lexical_rank=one.candidate.lexical_rank,
                vector_rank=one.candidate.vector_rank,
                source="index",
                why=_why(one.candidate, question, within.terms, around),
            )
        )
    return results


def _why(candidate: Candidate, question: Question, within: Collection[str], around: Collection[str]) -> str:
    present = [term for term in question.terms if term in within or term in around]
    if present:
        words = f"Holds {counted(len(present), len(question.terms))}: {listed(present)}"
        outside = [term for term in present if term not in within]
        if outside:
            words += f" ({listed(outside)} in its heading or file)"
        words += (
            f", place {candidate.lexical_rank} by words"
            if candidate.lexical_rank
            else f", below the first {question.depth} by words"
        )
    else:
        words = "Holds none of the words"
    if candidate.cosine is None:
        return f"{words}."
    if candidate.vector_rank:
        return f"{words}; place {candidate.vector_rank} by meaning (likeness {candidate.cosine:.2f})."
    return f"{words}; below the first {question.depth} by meaning (likeness {candidate.cosine:.2f})."


def counted(present: int, asked: int) -> str:
    """``2 of 3 words``."""
    return f"{present} of {asked} word{'' if asked == 1 else 's'}"


def listed(terms: Sequence[str], most: int = 6) -> str:
    """Words in a sentence; of many, the first."""
    more = f" and {len(terms) - most} more" if len(terms) > most else ""
    return ", ".join(terms[:most]) + more
