"""Chunks, the unit of indexing, and the results of a query (spec 7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from engine.startup.records import dataclass

Category = Literal[
    "identity", "memory", "journal", "project", "person", "procedure", "reference", "conversation", "topic",
    "knowledge", "shared", "archive",
]  # fmt: skip
CATEGORIES: tuple[Category, ...] = get_args(Category)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A searchable unit of a file: a transcript turn or a Markdown section."""

    path: str
    start_line: int
    end_line: int  # inclusive
    heading: str  # the heading path (``Core Memory › Key Decisions``), or speaker and time of a turn
    date: str  # ISO date of the text; empty if undated
    text: str  # as in the file


ShareName = Literal["words", "meaning", "neighbours", "session", "speaker", "date", "recency", "use"]
"""The parts of a score: the chunk's words and meaning, its neighbours, its file as a whole (for a
conversation, the session), its speaker, whether its date matches the query, its age, and how often it was
useful."""


class Share(NamedTuple):
    """One signal's contribution to a result's score; the shares of a result add up to its score."""

    name: ShareName
    value: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One chunk that matches a query."""

    path: str
    start_line: int
    end_line: int  # inclusive
    category: Category
    heading: str
    date: str
    snippet: str  # the best lines of the chunk, plain text
    text: str
    score: float  # 0 to 1, relative to the best result
    lexical_rank: int | None  # 1-based rank by words; ``None`` if it was not found by words
    vector_rank: int | None  # 1-based rank by meaning
    source: Literal["index", "scan"]  # the index, or without it the files
    why: str  # one clause
    shares: tuple[Share, ...] = ()  # the parts of the score, largest first
    speaker: str = ""
    """In a transcript ``user``, ``agent`` or ``system``, followed by the speaker's name if the turn begins
    with one."""
    relevance: float | None = None
    """0 to 1: how certainly it is related to the query, on the same scale for all queries; ``None`` if not
    measured."""
    copies: int = 0
    """How many more chunks with the same text were found (``without_copies``)."""
    worth: float | None = None
    """The probability that it is about what comes next in the session it is found for; ``None`` if that was
    not asked."""
    had_read: bool = False
    """An agent said it after it had read what others wrote, and may repeat that."""


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


def without_copies(results: Iterable[SearchResult]) -> list[SearchResult]:
    """The results in their order, of those with the same text only the first, with the others' number."""
    found: dict[str, list[SearchResult]] = {}
    for result in results:
        found.setdefault(" ".join(result.text.split()) or result.path, []).append(result)
    return [replace(same[0], copies=len(same) - 1) if len(same) > 1 else same[0] for same in found.values()]
