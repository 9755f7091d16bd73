"""Search values (spec 7): the indexed unit and the results of a query."""

from __future__ import annotations

from typing import Literal, NamedTuple

from engine.startup.records import dataclass

Category = Literal[
    "identity", "memory", "journal", "project", "person", "procedure", "reference", "conversation", "topic",
    "knowledge", "shared", "archive",
]  # fmt: skip
CATEGORIES: tuple[Category, ...] = (
    "identity", "memory", "journal", "project", "person", "procedure", "reference", "conversation", "topic",
    "knowledge", "shared", "archive",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file that is found as one: a transcript turn, or a Markdown section."""

    path: str
    start_line: int
    end_line: int  # inclusive
    heading: str  # the heading path (``Core Memory › Key Decisions``), or speaker and time of a turn
    date: str  # ISO date the text belongs to; empty when undated
    text: str  # as it stands in the file


ShareName = Literal["words", "meaning", "neighbours", "session", "speaker", "date", "recency", "use"]
"""What a score is made of: the chunk's words and meaning, what stands around it, its file as a whole (for a
conversation that is the session), who said it, whether its date was asked for, how old it is, and how often
it was of use."""


class Share(NamedTuple):
    """What one signal gave to a result's score; the shares of a result add up to its score."""

    name: ShareName
    value: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One answer to a query, best first."""

    path: str
    start_line: int
    end_line: int  # inclusive
    category: Category
    heading: str
    date: str
    snippet: str  # the best lines of the chunk, plain text
    text: str
    score: float  # 0 to 1, as a share of the best result's; with ``search.ranking: spec`` the merged score
    lexical_rank: int | None  # 1-based; ``None`` when the words did not find it
    vector_rank: int | None  # 1-based rank by meaning
    source: Literal["index", "ripgrep", "scan"]  # what answered
    why: str  # one sentence
    shares: tuple[Share, ...] = ()  # what the score is made of, largest first
    speaker: str = ""
    """In a transcript ``user``, ``agent`` or ``system``, and behind it the speaker's name where the turn
    begins with one."""
    relevance: float | None = None
    """0 to 1, how surely it has to do with the query at all, on one scale for all queries; ``None`` where it
    was not measured."""
