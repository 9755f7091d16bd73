"""Chunks that were found as results: read from the database, with what matters of them and why (spec 7.3)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import apsw

from engine.search import matches
from engine.search.results import SearchResult, Share, ShareName


@dataclass(frozen=True, slots=True)
class Chosen:
    """A chunk to describe."""

    chunk: int
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    cosine: float | None  # ``None`` when the search was by words alone
    shares: tuple[Share, ...] = ()
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """What the sentences of one search are about."""

    terms: tuple[str, ...]
    depth: int  # chunks that were looked at on each side
    in_full: bool = True  # ``False`` leaves snippets and sentences out: a prompt looks at hundreds of results


def described(connection: apsw.Connection, wording: Wording, chosen: Sequence[Chosen]) -> list[SearchResult]:
    """Results in the order of the chunks.

    Raises:
        apsw.Error: The database is damaged: a chunk is not there, or not as it was written.
    """
    rows = connection.execute(
        "SELECT chunks.id, files.path, files.category, chunks.start_line, chunks.end_line, chunks.heading,"
        " chunks.date, chunks.speaker, chunks.about, chunks.text"
        " FROM chunks JOIN files ON files.id = chunks.file_id"
        " WHERE chunks.id IN (SELECT value FROM json_each(?))",
        (json.dumps([one.chunk for one in chosen]),),
    )
    found = {row[0]: row for row in rows}
    for one in chosen:
        if tuple(map(type, found.get(one.chunk, ()))) != _TYPES:
            raise apsw.CorruptError(f"chunk {one.chunk} is not the one that was written")
    finder = matches.Finder(wording.terms, matches.stemmer(connection)) if wording.in_full else None
    results: list[SearchResult] = []
    for one in chosen:
        _, path, category, start, end, heading, date, speaker, about, text = found[one.chunk]
        snippet = why = ""
        if finder is not None:
            within = finder.find(text)
            all_within = len(within.terms) == len(wording.terms)
            around = () if all_within else finder.find(f"{heading} {about}").terms
            snippet = matches.snippet(text, within)
            why = _why(one, wording, within.terms, around)
        results.append(
            SearchResult(
                path=path,
                start_line=start,
                end_line=end,
                category=category,
                heading=heading,
                date=date,
                snippet=snippet,
                text=text,
                score=one.score,
                lexical_rank=one.lexical_rank,
                vector_rank=one.vector_rank,
                source="index",
                why=why,
                shares=one.shares,
                speaker=speaker,
                relevance=one.relevance,
            )
        )
    return results


_TYPES = (int, str, str, int, int, str, str, str, str, str)
"""The types of the columns that are read of a chunk; damage may change one."""

_SAID: dict[ShareName, str] = {
    "words": "its words",
    "meaning": "its meaning",
    "neighbours": "what stands around it",
    "session": "its file as a whole",
    "speaker": "who says it",
    "date": "its date",
    "recency": "its age",
    "use": "its use so far",
}


def made_of(shares: Sequence[Share]) -> str:
    """What a score is made of, in a clause; empty without shares."""
    said = ", ".join(
        f"{_SAID[share.name]} {share.value:+.2f}" for share in shares if abs(share.value) >= 0.005
    )
    return f"found by {said}" if said else ""


def _why(chosen: Chosen, wording: Wording, within: Collection[str], around: Collection[str]) -> str:
    parts = [_by_words(chosen, wording, within, around)]
    if chosen.cosine is not None:
        place = f"place {chosen.vector_rank}" if chosen.vector_rank else f"below the first {wording.depth}"
        parts.append(f"{place} by meaning (similarity {chosen.cosine:.2f})")
    helped = [
        _SAID[share.name] for share in chosen.shares if share.name not in _DIRECT and share.value > 0.05
    ]
    if helped:
        parts.append(f"lifted by {_and(helped)}")
    return f"{'; '.join(parts)}."


_DIRECT = ("words", "meaning")


def _by_words(chosen: Chosen, wording: Wording, within: Collection[str], around: Collection[str]) -> str:
    present = [term for term in wording.terms if term in within or term in around]
    if not present:
        return "Holds none of the words"
    words = f"Holds {counted(len(present), len(wording.terms))}: {listed(present)}"
    outside = [term for term in present if term not in within]
    if outside:
        words += f" ({listed(outside)} in its heading or file)"
    place = f"place {chosen.lexical_rank}" if chosen.lexical_rank else f"below the first {wording.depth}"
    return f"{words}, {place} by words"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(present: int, asked: int) -> str:
    """``2 of 3 words``."""
    return f"{present} of {asked} word{'' if asked == 1 else 's'}"


def listed(terms: Sequence[str], most: int = 6) -> str:
    """Words in a sentence; of many, the first."""
    more = f" and {len(terms) - most} more" if len(terms) > most else ""
    return ", ".join(terms[:most]) + more
