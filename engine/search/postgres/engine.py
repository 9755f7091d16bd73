"""A shared index in PostgreSQL as an engine: GIN and HNSW indexes name candidates (spec 7.2).

As in memory.db, only the rarest words are looked up, or the latest chunks with a common one, and the ranking
is the same. A clone sees its own version of each file; of a file that it has not, the newest.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from engine.errors import IndexFailed
from engine.search.engines import Engine, Scope, Word, columns, rarest
from engine.search.vectors import PLANES, signs_of

if TYPE_CHECKING:
    from engine.search.engines import Rows
    from engine.search.table import Floats

_LARGE, _EXAMINED = 20_000, 1_000
"""In an index with more chunks, pgvector keeps more neighbours while it walks its graph. Of the 100 nearest
of 100,000 chunks of random words .97 are found then, and .85 with 300 neighbours; of 10,000 passages that
people wrote, 300 find .99."""
PACKED = "array_send(terms)"
"""Reads the terms of a chunk for ``unsigned``."""


class PostgresEngine(Engine):
    """One state of a shared index.

    Args:
        model: The row id of the model of the vectors; 0 to read none.
        hidden: The files that the clone does not see.
        sample: Returns the sample of the vectors.
    """

    damage = IndexFailed

    def __init__(
        self, state: Rows, dimensions: int, model: int, hidden: list[int], sample: Callable[[], Floats]
    ) -> None:
        super().__init__(state, dimensions)
        self._model = model
        self._hidden = hidden
        self._read_sample = sample

    def all(self) -> list[int]:
        """See ``Engine.all``."""
        return self._ids("SELECT id FROM chunks WHERE file_id <> ALL (:hidden)", hidden=self._hidden)

    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """See ``Engine.by_words``."""
        chosen, share = rarest(words)
        if not chosen:
            return []
        chunks = self._totals[0]
        after = [0]
        if share < 1:
            # Ids have gaps, so the latest chunks are counted, not computed.
            query = "SELECT id FROM chunks ORDER BY id DESC OFFSET :latest LIMIT 1"
            after = self._ids(query, latest=int(chunks * share)) or [0]
        return self._ids(
            "SELECT id FROM ("
            " SELECT found.id, word.weight FROM unnest(:asked::integer[], :weights::real[])"
            " AS word (term, weight) CROSS JOIN LATERAL ("
            # A sum, lest the planner, who does not know the values, takes the index of ids.
            "  SELECT chunks.id FROM chunks WHERE terms @> ARRAY[word.term] AND id + 0 > :after"
            "  AND file_id <> ALL (:hidden) AND :category::text IN ('', category)"
            " ) AS found) AS matches GROUP BY id ORDER BY sum(weight) DESC, id DESC LIMIT :count",
            asked=[_signed(word.number) for word in chosen],
            weights=[math.log(1 + (chunks - word.held + 0.5) / (word.held + 0.5)) for word in chosen],
            after=after[0],
            count=count,
            **self._values(scope),
        )

    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """See ``Engine.by_vector``."""
        (signs,) = signs_of(vector[None, :])
        if self._totals[0] > _LARGE:
            self._state.query(f"SELECT set_config('hnsw.ef_search', '{_EXAMINED}', true)")
        values = self._values(scope)
        inside = ""
        if values["hidden"] or values["category"]:
            inside = (
                " AND EXISTS (SELECT FROM chunks WHERE id = chunk AND file_id <> ALL (:hidden)"
                " AND :category::text IN ('', category))"
            )
        return self._ids(
            "SELECT chunk FROM ("
            f" SELECT chunk, signs <~> :signs::bit({PLANES}) AS distance FROM vectors"
            f" WHERE model + 0 = :model{inside} ORDER BY signs <~> :signs::bit({PLANES}) LIMIT :count"
            ") AS nearest ORDER BY distance, chunk",
            signs=bits(signs.tobytes()),
            model=self._model,
            count=count,
            **values,
        )

    def _values(self, scope: Scope) -> dict[str, Any]:
        """In which files not to look, and in which category alone."""
        hidden = self._hidden
        if scope.exclude:
            query = "SELECT id FROM files WHERE path = ANY (:paths)"
            hidden = [*hidden, *self._ids(query, paths=sorted(scope.exclude))]
        return {"hidden": hidden, "category": scope.category or ""}

    def _selected(self) -> str:
        found = columns(terms=PACKED, vector="coalesce(vector, '')")
        joined = f"LEFT JOIN vectors ON chunk = chunks.id AND model = {self._model}"
        return f"SELECT {found} FROM wanted JOIN chunks USING (id) {joined}"

    def _rows(self, sql: str, **values: Any) -> Sequence[tuple[Any, ...]]:
        return [(*row[:9], unsigned(row[9]), *row[10:]) for row in super()._rows(sql, **values)]

    def _held(self, terms: Sequence[int]) -> dict[int, int]:
        query = "SELECT term::bigint & 4294967295, chunks FROM terms WHERE term = ANY (:asked)"
        return dict(self._state.query(query, asked=[_signed(term) for term in terms]))

    def _sample(self) -> Floats:
        return self._read_sample()


def _signed(term: int) -> int:
    """A term number as PostgreSQL stores it."""
    return term - (1 << 32) if term >= 1 << 31 else term


def signed_all(terms: bytes) -> list[int]:
    """The packed terms of ``Facts`` as PostgreSQL stores them."""
    return array("i", terms).tolist()


def unsigned(sent: bytes) -> bytes:
    """Terms as packed in ``Facts``, from an array as PostgreSQL sends it: a header of 20 bytes, then the
    length of each number and the number, both with the highest byte first.
    """
    return numpy.frombuffer(sent[20:], dtype=">u4")[1::2].astype(numpy.uint32).tobytes()


def bits(signs: bytes) -> str:
    """Packed signs as PostgreSQL reads a ``bit``."""
    return f"x{signs.hex()}"
