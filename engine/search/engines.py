"""What the ranking asks of whatever stores the index: candidates, and the rows to rank (spec 7.2).

There is one ranking (``engine.search.ranking``) and any number of engines below it. An engine names
candidates, by words and by vectors, in whatever way it does that well; their scores are not used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy

from engine.search.table import Corpus, File, Row, scales_of, table_of
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.search.table import Floats, Table

TURNS = 3
"""Minimum number of turns for a speaker's name; ``Note:`` at the beginning of a turn is not a name."""
AWAY = 3
"""How far the neighbours of a leader are from it at most."""
MOST_MATCHES = 4_000
"""Rows that are scored by their words, about, for one query."""


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

    def contains(self, file: File) -> bool:
        """Whether to look into a file."""
        return self.category in (None, file.category) and file.path not in self.exclude


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


class Rows(Protocol):
    """What an engine reads: see ``engine.search.storage.State``."""

    @property
    def totals(self) -> tuple[int, int, int]: ...

    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]: ...

    @staticmethod
    def each(name: str) -> str: ...


class Engine(ABC):
    """One consistent state of an index. Every method raises ``damage`` or its like if it is damaged.

    Args:
        dimensions: Of the vectors; 0 without any, or to read none.
    """

    BY_NAME: ClassVar[str] = ""
    """What makes a query take the index of names."""
    damage: ClassVar[type[Exception]]

    def __init__(self, state: Rows, dimensions: int) -> None:
        self._state = state
        self._dimensions = dimensions
        self._totals = state.totals

    @abstractmethod
    def all(self) -> list[int]:
        """Every chunk."""

    @abstractmethod
    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """Up to ``count`` chunks with some of the words, about the best first.

        The rarest words decide, so that a long text of common words does not read the whole index.
        """

    @abstractmethod
    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """About ``count`` chunks whose vectors are near to a unit vector, about the nearest first."""

    @abstractmethod
    def _selected(self) -> str:
        """Selects rows as ``Row`` of the chunks whose ids are in ``wanted``."""

    @abstractmethod
    def _held(self, terms: Sequence[int]) -> dict[int, int]:
        """The number of chunks by term."""

    @abstractmethod
    def _sample(self) -> Floats:
        """Unit vectors that represent those of all chunks."""

    def corpus(self, terms: Collection[int], *, with_sample: bool) -> Corpus:
        """The statistics of the index and of some terms; ``with_sample`` reads the sample of vectors too."""
        speakers = self._state.query(
            f"WITH asked (term) AS ({self._state.each('terms')}) SELECT term FROM asked WHERE EXISTS ("
            " SELECT 1 FROM chunks WHERE name = term AND name <> 0"
            f" GROUP BY file_id HAVING count(*) >= {TURNS})",
            terms=list(terms),
        )
        none = numpy.zeros((0, self._dimensions), dtype=numpy.float32)
        return Corpus(
            *self._totals,
            held=self._held(list(terms)),
            speakers=frozenset(term for (term,) in speakers),
            sample=self._sample() if with_sample and self._dimensions else none,
        )

    def table(
        self, chunks: Collection[int], leaders: Collection[int], names: Collection[int], scope: Scope
    ) -> Table:
        """Some chunks and those up to ``AWAY`` places from the ``leaders`` among them, in scope.

        ``names`` are the terms whose speakers are asked for.
        """
        each = self._state.each
        rows = self._rows(
            f"WITH wanted (id) AS ({each('chunks')}"
            " UNION SELECT near.id FROM chunks AS led JOIN chunks AS near ON near.file_id = led.file_id"
            f" AND near.position BETWEEN led.position - {AWAY} AND led.position + {AWAY}"
            f" WHERE led.id IN ({each('leaders')})) {self._selected()}",
            chunks=list(chunks),
            leaders=list(leaders),
        )
        try:
            ids = {int(row[1]) for row in rows}
            files = self._files(ids, names)
            if len(files) < len(ids):
                raise ValueError("it belongs to no file")
            if not {row[0] for row in rows}.issuperset(chunks):
                raise ValueError("it is missing")
            inside = {file: each for file, each in files.items() if scope.contains(each)}
            return table_of(rows, inside, self._dimensions)
        except (TypeError, ValueError) as error:
            raise self.damage(f"a chunk differs from what was written ({error})") from error

    def texts(self, chunks: Collection[int]) -> Mapping[int, Text]:
        """The texts of some chunks by id."""
        rows = self._state.query(
            "SELECT id, start_line, end_line, heading, date, speaker, about, text FROM chunks"
            f" WHERE id IN ({self._state.each('chunks')})",
            chunks=list(chunks),
        )
        found = {chunk: Text._make(text) for chunk, *text in rows}
        for chunk in chunks:
            if tuple(map(type, found.get(chunk, ()))) != (int, int, *[str] * 5):
                raise self.damage(f"chunk {chunk} differs from what was written")
        return found

    def _rows(self, sql: str, **values: Any) -> Sequence[tuple[Any, ...]]:
        """The rows of a query that ends with ``_selected``."""
        return self._state.query(sql, **values)

    def _ids(self, sql: str, **values: Any) -> list[int]:
        return [int(chunk) for (chunk,) in self._state.query(sql, **values)]

    def _files(self, files: Iterable[int], names: Collection[int]) -> dict[int, File]:
        asked, each = sorted(files), self._state.each
        speak: dict[int, set[int]] = {}
        if names:
            for file, name in self._state.query(
                f"SELECT DISTINCT file_id, name FROM chunks {self.BY_NAME} WHERE name <> 0"
                f" AND name IN ({each('names')}) AND file_id IN ({each('files')})",
                files=asked,
                names=list(names),
            ):
                speak.setdefault(file, set()).add(name)
        rows = self._state.query(
            f"SELECT id, path, category, extent FROM files WHERE id IN ({each('files')})", files=asked
        )
        nobody = frozenset[int]()
        return {
            file: File(path, category, extent, frozenset(speak[file]) if file in speak else nobody)
            for file, path, category, extent in rows
        }


def columns(**other: str) -> str:
    """The columns of ``Row``, as ``chunks`` has them; some by another expression."""
    named = {"chunk": "chunks.id", "file": "file_id", **other}
    return ", ".join(named.get(name, f"chunks.{name}") for name in Row._fields)


def unit_rows(packed: Iterable[bytes], dimensions: int) -> Floats:
    """Packed vectors as unit vectors, float32 ``[N, dimensions]``."""
    whole = numpy.frombuffer(b"".join(packed), dtype=numpy.int8).reshape(-1, dimensions).astype(numpy.float32)
    found: Floats = whole * scales_of(whole)[:, None]
    return found


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
