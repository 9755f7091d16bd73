"""The values of search (spec 7): the unit that is indexed, and what a query brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Category = Literal[
    "identity", "memory", "journal", "project", "person", "procedure", "reference", "conversation", "topic",
    "knowledge",
]  # fmt: skip
CATEGORIES: tuple[Category, ...] = (
    "identity", "memory", "journal", "project", "person", "procedure", "reference", "conversation", "topic",
    "knowledge",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a file that is found as one: a transcript turn, or a Markdown section.

    Attributes:
        path: Workspace-relative path.
        start_line: 1-based first line.
        end_line: 1-based last line, inclusive.
        heading: The heading path (``Core Memory › Key Decisions``), or speaker and time of a turn.
        date: ISO date the text belongs to; empty when undated.
        text: The text as it stands in the file.
    """

    path: str
    start_line: int
    end_line: int
    heading: str
    date: str
    text: str


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
    """One answer to a query, best first.

    Attributes:
        path: Workspace-relative path.
        start_line: 1-based first line of the chunk.
        end_line: 1-based last line, inclusive.
        category: The spec's category of the file.
        heading: As in ``Chunk``.
        date: As in ``Chunk``.
        snippet: The best lines of the chunk, plain text.
        text: The whole chunk.
        score: 0 to 1, as a share of the best result's; with ``search.ranking: spec`` the merged score.
        lexical_rank: 1-based rank by words; ``None`` when the words did not find it.
        vector_rank: 1-based rank by meaning; ``None`` likewise.
        source: ``index``, ``ripgrep`` or ``scan``: who answered.
        why: One sentence.
        shares: What the score is made of, largest first; empty where nobody ranked by signals.
        relevance: 0 to 1, how surely it has to do with the query at all, on one scale for all queries;
            ``None`` where it was not measured.
        speaker: In a transcript ``user``, ``agent`` or ``system``, and behind it the speaker's name where the
            turn begins with one; ``""`` elsewhere.
    """

    path: str
    start_line: int
    end_line: int
    category: Category
    heading: str
    date: str
    snippet: str
    text: str
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    source: Literal["index", "ripgrep", "scan"]
    why: str
    shares: tuple[Share, ...] = ()
    speaker: str = ""
    relevance: float | None = None
