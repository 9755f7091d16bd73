"""What is read of memory.db: FTS5 and sqlite-vec name candidates (spec 7.2).

Neither ranks all that matches. FTS5 takes a microsecond for every row it scores, so it gets the rarest words
only. sqlite-vec's search takes time in proportion to the rows times the results wanted: 400 nearest of 10,000
take 11 ms, but .7 ms with a limit to the distance, which a sample of the vectors tells.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import apsw
import numpy

from engine.search import database, schema, state, vectors
from engine.search.reports import IndexStatus
from engine.search.state import EVERYWHERE, Scope, Word, columns, rarest
from engine.search.vectors import PLANES, signs_of

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder
    from engine.search.table import Floats

_MOST_NEAREST = 4_096
"""Of sqlite-vec."""
_WEIGHTS = "bm25(1.0, 0.8, 1.0, 0.2)"
_PATHS = "(SELECT value FROM json_each(:exclude))"


class State(state.State):
    """One state of memory.db; sqlite-vec is loaded if there are vectors."""

    BY_NAME = "INDEXED BY chunks_by_name"
    damage = apsw.CorruptError

    SESSIONS = "SELECT id, stamp FROM files JOIN sessions ON file = id"
    SKIPPED = "SELECT path, skipped FROM files WHERE skipped <> '' ORDER BY path"
    CATEGORIES = (
        "SELECT CAST(category AS TEXT), sum(skipped = ''), CAST(sum(chunk_count) AS INTEGER),"
        " sum(skipped <> '') FROM files GROUP BY category"
    )
    FILES = "SELECT id, chunk_count, extent, digest, 1, path, category, date, skipped FROM files"

    def __init__(self, home: state.Home, connection: apsw.Connection, *, has_vectors: bool = False) -> None:
        super().__init__(home)
        self.connection = connection
        self._has_vectors = has_vectors

    def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """See ``state.State.query``."""
        given = {name: json.dumps(each) if isinstance(each, list) else each for name, each in values.items()}
        return self.connection.execute(sql, given).fetchall()

    @staticmethod
    def each(name: str) -> str:
        """See ``state.State.each``."""
        return f"SELECT value FROM json_each(:{name})"

    @cached_property
    def _meta(self) -> dict[str, str]:
        return schema.all_meta(self.connection)

    @property
    def stamp(self) -> Hashable:
        """See ``state.State.stamp``."""
        return self._meta["index"], self._meta["stamp"]

    @cached_property
    def totals(self) -> tuple[int, int, int]:  # type: ignore[override]  # read when it is asked for
        """See ``state.State``."""
        found = self.query(
            "SELECT CAST(chunks AS INTEGER), CAST(length AS INTEGER), CAST(files AS INTEGER) FROM totals"
        )
        if len(found) != 1:
            raise apsw.CorruptError("the totals of the index are missing")
        chunks, length, files = found[0]
        return chunks, length, files

    def _model_of(self, embedder: Embedder) -> tuple[int, int]:
        if not self._has_vectors or not vectors.are_from(self.connection, embedder):
            return 0, 0
        return 1, int(self.query("SELECT CAST(vectors AS INTEGER) FROM totals")[0][0])

    def _of_model(self) -> str:
        return "true" if self.model.id else "false"

    def _details(self) -> IndexStatus:
        refreshed = self._meta["refreshed_ns"]
        return IndexStatus(
            "ready",
            without_vectors=database.vector_library()[1],
            embedder=self._meta["embedder"],
            size=int(self.connection.pragma("page_count")) * int(self.connection.pragma("page_size")),
            refreshed=datetime.fromtimestamp(int(refreshed) / 1e9, UTC) if refreshed.isdecimal() else None,
            journal=str(self.connection.pragma("journal_mode")),
        )

    def all(self) -> list[int]:
        """See ``state.State.all``."""
        found = self._ids("SELECT id FROM chunks")
        if len(found) != self.totals[0]:
            raise apsw.CorruptError("the chunks differ in number from what was written")
        return found

    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """See ``state.State.by_words``."""
        chosen, share = rarest(words)
        if not chosen:
            return []
        after = 0
        if share < 1:
            (last,) = self._ids("SELECT coalesce(max(id), 0) FROM chunks")
            after = last - int(last * share)
        inside, within = "", {}
        if scope != EVERYWHERE:
            inside = (
                " CROSS JOIN chunks ON chunks.id = chunk_words.rowid CROSS JOIN files ON files.id = file_id"
                f" AND category = coalesce(:category, category) AND path NOT IN {_PATHS}"
            )
            within = _values(scope)
        return self._ids(
            f"SELECT chunk_words.rowid FROM chunk_words{inside} WHERE chunk_words MATCH :words"
            f" AND chunk_words.rowid > :after AND rank MATCH '{_WEIGHTS}' ORDER BY rank LIMIT :count",
            words=expression(chosen),
            after=after,
            count=count,
            **within,
        )

    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """See ``state.State.by_vector``."""
        (signs,) = signs_of(vector[None, :])
        apart = numpy.sort(numpy.bitwise_count(self.sample.signs ^ signs).sum(axis=1, dtype=int))
        if scope.exclude:
            (out,) = self._ids(
                f"SELECT coalesce(sum(chunk_count), 0) FROM files WHERE path IN {_PATHS}",
                exclude=sorted(scope.exclude),
            )
            count += out
        inside = ""
        if scope.category is not None:
            inside = (
                " AND chunk IN (SELECT chunks.id FROM files JOIN chunks ON file_id = files.id"
                " WHERE category = :category)"
            )
        place = count * len(apart) // max(self.totals[0], 1)
        while True:
            limit = int(apart[place]) if place < len(apart) and not inside else PLANES
            found = self._ids(
                "SELECT chunk FROM chunk_signs WHERE signs MATCH vec_bit(:signs) AND k = :count"
                f" AND distance <= :limit{inside}",
                signs=signs.tobytes(),
                count=min(count, _MOST_NEAREST),
                limit=limit,
                category=scope.category,
            )
            if len(found) >= count // 2 or limit >= PLANES:
                return found
            place = 2 * place + 1

    def _selected(self) -> str:
        found = columns(vector="coalesce(vector, x'')" if self.dimensions else "x''")
        joined = " LEFT JOIN vectors ON chunk = chunks.id" if self.dimensions else ""
        return f"SELECT {found} FROM wanted CROSS JOIN chunks USING (id){joined}"

    def _held(self, terms: Sequence[int]) -> dict[int, int]:
        each = self.each("terms")
        query = f"SELECT term, CAST(chunks AS INTEGER) FROM terms WHERE term IN ({each})"
        return dict(self.query(query, terms=terms))


def expression(words: Collection[Word]) -> str:
    """An FTS5 expression that matches every row containing at least one of the words.

    Quoting makes each of them a plain string in FTS5's grammar, so operators, column filters and prefix marks
    have no effect.
    """
    return " OR ".join('"' + word.text.replace('"', '""') + '"' for word in words)


def _values(scope: Scope) -> dict[str, Any]:
    return {"category": scope.category, "exclude": sorted(scope.exclude)}
