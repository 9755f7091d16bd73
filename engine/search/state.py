"""What is read of an index, wherever it is kept: its rows, and candidates for the ranking (spec 7.2).

There is one ranking (``engine.search.ranking``) and two kinds of index below it. Each names candidates, by
words and by vectors, in whatever way it does that well; their scores are not used. Their SQL is the same
where it can be: ``:name`` stands for a value, and ``State.each`` for the rows of a list.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy

from engine.search.embeddings import EMBEDDING_FAULTS, embedded_text
from engine.search.reports import CategoryCount, IndexStatus, Skipped
from engine.search.results import CATEGORIES
from engine.search.table import Corpus, File, Row, scales_of, table_of
from engine.search.vectors import SAMPLE, signs_of
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.search.embeddings import Embedder
    from engine.search.past import Past, PastReader
    from engine.search.table import Floats, Table

Turn = tuple[int, int, str, str, str, str]
"""First and last line, speaker, heading, date and text of a chunk."""
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


class Model(NamedTuple):
    """The model in use."""

    id: int = 0  # in the index; 0 if it is not known there
    vectors: int = 0  # the number of chunks that it has read
    name: str = ""  # its own id; empty without a model, or if that cannot be determined


class Sample:
    """Unit vectors that represent those of all chunks, float32 ``[S, D]``."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors

    @cached_property
    def signs(self) -> NDArray[numpy.uint8]:
        """As from ``signs_of``."""
        return signs_of(self.vectors)


_RESAMPLED = 1 / 8
"""Share of vectors added or removed after which a sample of many is read again."""


class Home(Protocol):
    """What has read an index, and outlives its states."""

    embedder: Embedder | None
    sample: tuple[Hashable, Sample] | None
    """The sample last read, with what it is of."""

    @property
    def past_reader(self) -> PastReader:
        """Reads past sessions, of which it keeps those that are unchanged."""


class State(ABC):
    """One consistent state of a complete index: its rows, and candidates for the ranking.

    Those who rank get ``damage`` or its like if it is damaged.

    Attributes:
        totals: The number of chunks, the total of their lengths, and the number of files with chunks.
        dimensions: Of the vectors; 0 to read none.
    """

    BY_NAME: ClassVar[str] = ""
    """What makes a query take the index of names."""
    damage: ClassVar[type[Exception]]

    SESSIONS: ClassVar[str]
    """Selects the row id and the stamp of each session's file that this workspace itself has."""
    SKIPPED: ClassVar[str]
    """Selects the path of each file that is not indexed, and why."""
    CATEGORIES: ClassVar[str]
    """Selects categories with their numbers of files, chunks and skipped files."""
    FILES: ClassVar[str]
    """Selects the id, number of chunks, total of lengths and digest of each file, whether this version of the
    program made it, and what its digest is of."""
    TERMS: ClassVar[str] = "terms"
    """A chunk's terms."""
    totals: tuple[int, int, int]
    dimensions = 0

    def __init__(self, home: Home) -> None:
        self.home = home

    @property
    def own(self) -> Mapping[str, Any]:
        """Values that these queries use."""
        return {}

    @abstractmethod
    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""

    @staticmethod
    @abstractmethod
    def each(name: str) -> str:
        """A subquery with a row for each number in the list of this name."""

    @property
    @abstractmethod
    def stamp(self) -> Hashable:
        """Equal for equal states."""

    @abstractmethod
    def _model_of(self, embedder: Embedder) -> tuple[int, int]:
        """The first two fields of ``Model``."""

    @abstractmethod
    def _of_model(self) -> str:
        """The condition of a row of ``vectors`` that is of the model."""

    @cached_property
    def model(self) -> Model:
        """The model in use."""
        embedder = self.home.embedder
        try:
            return Model() if embedder is None else Model(*self._model_of(embedder), embedder.id)
        except EMBEDDING_FAULTS:
            return Model()  # whatever uses the model says why

    def missing(self) -> int:
        """The number of chunks that lack a vector of the model; 0 without a model."""
        return self.totals[0] - self.model.vectors if self.model.name else 0

    @abstractmethod
    def _details(self) -> IndexStatus:
        """What only this kind of index knows of its status."""

    def past(self) -> Past:
        """The past sessions."""
        return self.home.past_reader.read(
            self.stamp,
            lambda: self.query(self.SESSIONS, **self.own),
            lambda files: self.query(
                "SELECT id, path, date, words, places, lengths, spoken FROM files JOIN sessions ON file = id"
                f" WHERE id IN ({self.each('files')})",
                files=files,
            ),
        )

    def turns(self, file: int, position: int | None) -> list[Turn]:
        """The chunks of a file by row id, or the one at a position."""
        found = self.query(
            "SELECT start_line, end_line, speaker, heading, date, text FROM chunks"
            " WHERE file_id = :file AND position = coalesce(:position, position) ORDER BY position",
            file=file,
            position=position,
        )
        return [(row[0], row[1], row[2], row[3], row[4], row[5]) for row in found]

    def stored(self, file: int) -> list[tuple[Any, ...]]:
        """The chunks of a file in order, as ``changes.ChunkRow`` and then as ``facts.Facts``."""
        return self.query(
            "SELECT position, start_line, end_line, speaker, date, heading, about, text,"
            f" length, size, day, name, kind, is_person, {self.TERMS}, counts"
            " FROM chunks WHERE file_id = :file ORDER BY position",
            file=file,
        )

    def to_embed(self, most: int, before: int) -> list[tuple[int, str]]:
        """The latest chunks before an id that lack a vector: ids, descending, and texts to embed."""
        # With a limit to those that there are, the new chunks of a complete index are found at once.
        found = self.query(
            "SELECT id, speaker, heading, text FROM chunks WHERE id < :before AND NOT EXISTS"
            f" (SELECT 1 FROM vectors WHERE chunk = id AND {self._of_model()}) ORDER BY id DESC LIMIT :most",
            before=before,
            most=min(most, self.missing()),
        )
        return [(chunk, embedded_text(*words)) for chunk, *words in found]

    def skipped(self) -> tuple[Skipped, ...]:
        """The files that are not indexed, and why."""
        return tuple(Skipped(path, why) for path, why in self.query(self.SKIPPED, **self.own))

    def status(self) -> IndexStatus:
        """What is in the index."""
        counts = {str(row[0]): CategoryCount(*row) for row in self.query(self.CATEGORIES, **self.own)}
        names = (*CATEGORIES, *sorted(counts.keys() - set(CATEGORIES)))
        missing = self.missing()
        coming = ""
        if missing:
            coming = f"{self.totals[0] - missing:,} of {self.totals[0]:,} chunks have vectors"
        return replace(
            self._details(),
            files=sum(each.files for each in counts.values()),
            chunks=sum(each.chunks for each in counts.values()),
            vectors=self.model.vectors,
            vectors_coming=coming,
            skipped=self.skipped(),
            categories=tuple(counts[name] for name in names if name in counts),
        )

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

    @property
    def sample(self) -> Sample:
        """The vectors with the smallest sums, which represent all."""
        count = self.model.vectors
        is_large = count > SAMPLE
        key = self.model.id, math.log(count) // math.log1p(_RESAMPLED) if is_large else (count, self.stamp)
        found = self.home.sample
        if found is None or found[0] != key:
            rows = self.query(
                f"SELECT vector FROM vectors WHERE sum >= 0 AND {self._of_model()} ORDER BY sum"
                f" LIMIT {SAMPLE}"
            )
            found = key, Sample(unit_rows((vector for (vector,) in rows), self.dimensions))
            self.home.sample = found
        return found[1]

    def corpus(self, terms: Collection[int], *, with_sample: bool) -> Corpus:
        """The statistics of the index and of some terms; ``with_sample`` reads the sample of vectors too."""
        speakers = self.query(
            f"WITH asked (term) AS ({self.each('terms')}) SELECT term FROM asked WHERE EXISTS ("
            " SELECT 1 FROM chunks WHERE name = term AND name <> 0"
            f" GROUP BY file_id HAVING count(*) >= {TURNS})",
            terms=list(terms),
        )
        none = numpy.zeros((0, self.dimensions), dtype=numpy.float32)
        return Corpus(
            *self.totals,
            held=self._held(list(terms)),
            speakers=frozenset(term for (term,) in speakers),
            sample=self.sample.vectors if with_sample and self.dimensions else none,
        )

    def table(
        self, chunks: Collection[int], leaders: Collection[int], names: Collection[int], scope: Scope
    ) -> Table:
        """Some chunks and those up to ``AWAY`` places from the ``leaders`` among them, in scope.

        ``names`` are the terms whose speakers are asked for.
        """
        each = self.each
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
            return table_of(rows, inside, self.dimensions)
        except (TypeError, ValueError) as error:
            raise self.damage(f"a chunk differs from what was written ({error})") from error

    def texts(self, chunks: Collection[int]) -> Mapping[int, Text]:
        """The texts of some chunks by id."""
        rows = self.query(
            "SELECT id, start_line, end_line, heading, date, speaker, about, text FROM chunks"
            f" WHERE id IN ({self.each('chunks')})",
            chunks=list(chunks),
        )
        found = {chunk: Text._make(text) for chunk, *text in rows}
        for chunk in chunks:
            if tuple(map(type, found.get(chunk, ()))) != (int, int, *[str] * 5):
                raise self.damage(f"chunk {chunk} differs from what was written")
        return found

    def _rows(self, sql: str, **values: Any) -> Sequence[tuple[Any, ...]]:
        """The rows of a query that ends with ``_selected``."""
        return self.query(sql, **values)

    def _ids(self, sql: str, **values: Any) -> list[int]:
        return [int(chunk) for (chunk,) in self.query(sql, **values)]

    def _files(self, files: Iterable[int], names: Collection[int]) -> dict[int, File]:
        asked, each = sorted(files), self.each
        speak: dict[int, set[int]] = {}
        if names:
            for file, name in self.query(
                f"SELECT DISTINCT file_id, name FROM chunks {self.BY_NAME} WHERE name <> 0"
                f" AND name IN ({each('names')}) AND file_id IN ({each('files')})",
                files=asked,
                names=list(names),
            ):
                speak.setdefault(file, set()).add(name)
        rows = self.query(
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
