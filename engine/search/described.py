"""Turns matching chunks into results, with text, snippet and explanation from the database (spec 7.3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engine.search import matches
from engine.search.results import SearchResult, Share, ShareName

if TYPE_CHECKING:
    from engine.search.state import State


class Chosen(NamedTuple):
    """A chunk to describe."""

    chunk: int
    file: tuple[str, str]  # path and category
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    cosine: float | None  # ``None`` if the search was by words alone
    shares: tuple[Share, ...] = ()
    relevance: float | None = None


def describe(
    state: State,
    chosen: Sequence[Chosen],
    terms: Sequence[str],
    depth: int,
    *,
    in_full: bool = True,
) -> list[SearchResult]:
    """Build the results, in the order of the chunks.

    Args:
        terms: The words of the query.
        depth: Number of candidates by words and by meaning.
        in_full: ``False`` omits snippets and explanations, since a prompt considers hundreds of results.

    Raises:
        apsw.Error: The index is damaged: a chunk is missing or differs from what was written.
    """
    texts = state.texts([one.chunk for one in chosen])
    finder = matches.Finder(terms) if in_full else None
    results: list[SearchResult] = []
    for one in chosen:
        start, end, heading, date, speaker, about, text = texts[one.chunk]
        snippet = why = ""
        if finder is not None:
            within = finder.find(text)
            around = () if len(within.terms) == len(terms) else finder.find(f"{heading} {about}").terms
            snippet = matches.snippet(text, within)
            why = _why(one, terms, depth, within.terms, around)
        results.append(
            SearchResult(
                path=one.file[0],
                start_line=start,
                end_line=end,
                category=one.file[1],  # type: ignore[arg-type]  # a known category
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


_LABELS: dict[ShareName, str] = {
    "words": "its words",
    "meaning": "its meaning",
    "neighbours": "its neighbours",
    "session": "its file as a whole",
    "speaker": "its speaker",
    "date": "its date",
    "recency": "its age",
    "use": "its past use",
}


def explain_shares(shares: Sequence[Share]) -> str:
    """What a score is made of, in one clause; empty without shares."""
    parts = ", ".join([f"{_LABELS[name]} {value:+.2f}" for name, value in shares if abs(value) >= 0.005])
    return f"found by {parts}" if parts else ""


def _why(
    chosen: Chosen, terms: Sequence[str], depth: int, within: Collection[str], around: Collection[str]
) -> str:
    def place(rank: int | None) -> str:
        return f"rank {rank}" if rank else f"below the top {depth}"

    present = [term for term in terms if term in within or term in around]
    if present:
        words = f"Contains {counted(len(present), len(terms))}: {listed(present)}"
        outside = [term for term in present if term not in within]
        if outside:
            words += f" ({listed(outside)} in its heading or file)"
        parts = [f"{words}, {place(chosen.lexical_rank)} by words"]
    else:
        parts = ["Contains none of the words"]
    if chosen.cosine is not None:
        parts.append(f"{place(chosen.vector_rank)} by meaning (similarity {chosen.cosine:.2f})")
    boosts = [
        _LABELS[share.name] for share in chosen.shares if share.name not in _DIRECT and share.value > 0.05
    ]
    if boosts:
        parts.append(f"boosted by {_and(boosts)}")
    return f"{'; '.join(parts)}."


_DIRECT = ("words", "meaning")


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(present: int, total: int) -> str:
    """``2 of 3 words``."""
    return f"{present} of {total} word{'' if total == 1 else 's'}"


def listed(terms: Sequence[str], most: int = 6) -> str:
    """Words as a comma-separated list, shortened to the first ``most``."""
    more = f" and {len(terms) - most} more" if len(terms) > most else ""
    return ", ".join(terms[:most]) + more
