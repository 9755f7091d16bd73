"""What the ranking asks of an engine that stores the index: candidates, and the rows to rank (spec 7.2).

There is one ranking (``engine.search.ranking``) and any number of engines below it. An engine names
candidates, by words and by vectors, in whatever way it does that well; their scores are not used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.search.table import Corpus, Floats, Table


class Word(NamedTuple):
    """A word to look for."""

    text: str  # as the tokenizer takes it
    held: int  # the number of chunks that contain it at most, at least 1
    number: int = 0  # of the term of it that the fewest chunks contain


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look."""

    category: str | None = None
    exclude: frozenset[str] = frozenset()  # paths


EVERYWHERE = Scope()


class Text(NamedTuple):
    """What is shown of a chunk."""

    start_line: int
    end_line: int
    heading: str
    date: str
    speaker: str
    about: str
    text: str


class Engine(Protocol):
    """One consistent state of an index. Every method raises ``apsw.Error`` or its like if it is damaged."""

    def corpus(self, terms: Collection[int], *, with_sample: bool) -> Corpus:
        """The statistics of the index and of some terms; ``with_sample`` reads the sample of vectors too."""
        ...

    def all(self) -> list[int]:
        """Every chunk."""
        ...

    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """Up to ``count`` chunks with some of the words, about the best first.

        The rarest words decide, so that a long text of common words does not read the whole index.
        """
        ...

    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """About ``count`` chunks whose vectors are near to a unit vector, about the nearest first."""
        ...

    def table(
        self, chunks: Collection[int], leaders: Collection[int], names: Collection[int], scope: Scope
    ) -> Table:
        """Some chunks and those up to ``AWAY`` places from the ``leaders`` among them, in scope.

        ``names`` are the terms whose speakers are asked for.
        """
        ...

    def texts(self, chunks: Collection[int]) -> Mapping[int, Text]:
        """The texts of some chunks by id."""
        ...


AWAY = 3
"""How far the neighbours of a leader are from it at most."""

MOST_MATCHES = 4_000
"""Rows that are scored by their words, about, for one query."""


def rarest(words: Sequence[Word]) -> tuple[list[Word], float]:
    """The rarest words that are in no more than ``MOST_MATCHES`` chunks together, at least one.

    Returns:
        The words, and the share of the latest chunks to look into, 1 for all: if even the rarest word is
        common, the latest chunks with it have to do.
    """
    chosen: list[Word] = []
    total = 0
    for word in sorted(words, key=lambda each: each.held):
        if chosen and total + word.held > MOST_MATCHES:
            break
        chosen.append(word)
        total += word.held
    return chosen, min(1.0, MOST_MATCHES / max(total, 1))
