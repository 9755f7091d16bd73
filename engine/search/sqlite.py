"""The index in memory.db as an engine: FTS5 and sqlite-vec name candidates (spec 7.2).

Neither ranks all that matches. FTS5 takes a microsecond for every row it scores, so it gets the rarest words
only. sqlite-vec's search takes time in proportion to the rows times the results wanted: 400 nearest of 10,000
take 11 ms, but .7 ms with a limit to the distance, which a sample of the vectors tells.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import apsw
import numpy

from engine.search.engines import AWAY, EVERYWHERE, Scope, Text, Word, rarest
from engine.search.table import Corpus, File, Row, Table, scales_of, table_of
from engine.search.vectors import PLANES, signs_of

if TYPE_CHECKING:
    from apsw import SQLiteValue

    from engine.search.table import Floats

_MOST_NEAREST = 4_096
"""Of sqlite-vec."""
_WEIGHTS = "bm25(1.0, 0.8, 1.0, 0.2)"
TURNS = 3
"""Minimum number of turns for a speaker's name; ``Note:`` at the beginning of a turn is not a name."""
_ROW = f"chunks.{', chunks.'.join(Row._fields)}".replace("chunks.chunk,", "chunks.id,").replace(
    "chunks.file,", "chunks.file_id,"
)
_WITHOUT_VECTOR = _ROW.replace("chunks.vector", "x''")
_IN = "(SELECT value FROM json_each(?{}))"


class SqliteEngine:
    """One state of memory.db.

    Args:
        connection: In a transaction on a complete database; with sqlite-vec loaded if there are vectors.
        dimensions: Of the vectors; 0 without any, or to read none.
    """

    def __init__(self, connection: apsw.Connection, dimensions: int) -> None:
        self._connection = connection
        self._dimensions = dimensions
        totals = connection.execute(
            "SELECT CAST(chunks AS INTEGER), CAST(length AS INTEGER), CAST(files AS INTEGER) FROM totals"
        ).fetchall()
        if len(totals) != 1:
            raise apsw.CorruptError("the totals of the index are missing")
        self._totals = cast("tuple[int, int, int]", totals[0])

    def corpus(self, terms: Collection[int], *, with_sample: bool) -> Corpus:
        """See ``Engine.corpus``."""
        asked = json.dumps(list(terms))
        held = self._connection.execute(
            f"SELECT term, CAST(chunks AS INTEGER) FROM terms WHERE term IN {_IN.format(1)}", (asked,)
        ).fetchall()
        speakers = self._connection.execute(
            "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM chunks"
            f" WHERE name = value AND name <> 0 GROUP BY file_id HAVING count(*) >= {TURNS})",
            (asked,),
        )
        return Corpus(
            *self._totals,
            held=dict(cast("list[tuple[int, int]]", held)),
            speakers=frozenset(term for (term,) in speakers),
            sample=self._sample() if with_sample else numpy.zeros((0, 0), dtype=numpy.float32),
        )

    def all(self) -> list[int]:
        """See ``Engine.all``."""
        found = self._ids("SELECT id FROM chunks", ())
        if len(found) != self._totals[0]:
            raise apsw.CorruptError("the chunks differ in number from what was written")
        return found

    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """See ``Engine.by_words``."""
        chosen, share = rarest(words)
        if not chosen:
            return []
        after = 0
        if share < 1:
            last = self._number("SELECT coalesce(max(id), 0) FROM chunks")
            after = last - int(last * share)
        inside = ""
        values: list[str | int | None] = [expression(chosen), after, count]
        if scope != EVERYWHERE:
            inside = (
                " CROSS JOIN chunks ON chunks.id = chunk_words.rowid CROSS JOIN files ON files.id = file_id"
                f" AND category = coalesce(?4, category) AND path NOT IN {_IN.format(5)}"
            )
            values += _values(scope)
        return self._ids(
            f"SELECT chunk_words.rowid FROM chunk_words{inside} WHERE chunk_words MATCH ?1"
            f" AND chunk_words.rowid > ?2 AND rank MATCH '{_WEIGHTS}' ORDER BY rank LIMIT ?3",
            values,
        )

    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """See ``Engine.by_vector``."""
        (signs,) = signs_of(vector[None, :])
        chunks, _, _ = self._totals
        sample = b"".join([each for (each,) in self._connection.execute("SELECT signs FROM sample")])
        differ = numpy.frombuffer(sample, dtype=numpy.uint8).reshape(-1, len(signs)) ^ signs
        apart = numpy.sort(numpy.bitwise_count(differ).sum(axis=1, dtype=int))
        if scope.exclude:
            count += self._number(
                f"SELECT coalesce(sum(chunk_count), 0) FROM files WHERE path IN {_IN.format(1)}",
                _values(scope)[1:],
            )
        inside = ""
        if scope.category is not None:
            inside = (
                " AND chunk IN (SELECT chunks.id FROM files JOIN chunks ON file_id = files.id"
                " WHERE category = ?4)"
            )
        place = count * len(apart) // max(chunks, 1)
        while True:
            limit = int(apart[place]) if place < len(apart) and not inside else PLANES
            found = self._ids(
                "SELECT chunk FROM chunk_signs WHERE signs MATCH vec_bit(?1) AND k = ?2 AND distance <= ?3"
                f"{inside}",
                (signs.tobytes(), min(count, _MOST_NEAREST), limit, *_values(scope)[: 1 if inside else 0]),
            )
            if len(found) >= count // 2 or limit >= PLANES:
                return found
            place = 2 * place + 1

    def table(
        self, chunks: Collection[int], leaders: Collection[int], names: Collection[int], scope: Scope
    ) -> Table:
        """See ``Engine.table``."""
        columns = _ROW if self._dimensions else _WITHOUT_VECTOR
        rows = self._connection.execute(
            "WITH wanted (id) AS (SELECT value FROM json_each(?1)"
            " UNION SELECT near.id FROM chunks AS led JOIN chunks AS near ON near.file_id = led.file_id"
            f" AND near.position BETWEEN led.position - {AWAY} AND led.position + {AWAY}"
            f" WHERE led.id IN {_IN.format(2)})"
            f" SELECT {columns} FROM wanted CROSS JOIN chunks USING (id)",
            (json.dumps(list(chunks)), json.dumps(list(leaders))),
        ).fetchall()
        try:
            ids = {int(cast("int", row[1])) for row in rows}
            files = self._files(ids, names)
            if len(files) < len(ids):
                raise ValueError("it belongs to no file")
            if not {row[0] for row in rows}.issuperset(chunks):
                raise ValueError("it is missing")
            inside = {file: each for file, each in files.items() if _is_in(each, scope)}
            return table_of(rows, inside, self._dimensions)
        except (TypeError, ValueError) as error:
            raise apsw.CorruptError(f"a chunk differs from what was written ({error})") from error

    def texts(self, chunks: Collection[int]) -> Mapping[int, Text]:
        """See ``Engine.texts``."""
        rows = self._connection.execute(
            "SELECT id, start_line, end_line, heading, date, speaker, about, text FROM chunks"
            f" WHERE id IN {_IN.format(1)}",
            (json.dumps(list(chunks)),),
        )
        found = {chunk: Text._make(text) for chunk, *text in rows}
        for chunk in chunks:
            if tuple(map(type, found.get(chunk, ()))) != (int, int, *[str] * 5):
                raise apsw.CorruptError(f"chunk {chunk} differs from what was written")
        return found

    def _ids(self, query: str, values: Sequence[SQLiteValue]) -> list[int]:
        return [
            int(chunk)
            for (chunk,) in cast("list[tuple[int]]", self._connection.execute(query, values).fetchall())
        ]

    def _number(self, query: str, values: Sequence[SQLiteValue] = ()) -> int:
        return int(cast("int", self._connection.execute(query, values).get))

    def _sample(self) -> Floats:
        none = numpy.zeros((0, self._dimensions), dtype=numpy.float32)
        if not self._dimensions:
            return none
        vectors = b"".join([vector for (vector,) in self._connection.execute("SELECT vector FROM sample")])
        rows = numpy.frombuffer(vectors, dtype=numpy.int8).reshape(-1, self._dimensions).astype(numpy.float32)
        found: Floats = rows * scales_of(rows)[:, None]
        return found

    def _files(self, files: Collection[int], names: Collection[int]) -> dict[int, File]:
        asked = json.dumps(sorted(files))
        speak: dict[int, set[int]] = {}
        if names:
            for file, name in self._connection.execute(
                "SELECT DISTINCT file_id, name FROM chunks INDEXED BY chunks_by_name WHERE name <> 0"
                f" AND name IN {_IN.format(2)} AND file_id IN {_IN.format(1)}",
                (asked, json.dumps(list(names))),
            ):
                speak.setdefault(file, set()).add(name)
        nobody = frozenset[int]()
        rows = self._connection.execute(
            f"SELECT id, path, category, extent FROM files WHERE id IN {_IN.format(1)}", (asked,)
        ).fetchall()
        return {
            file: File(path, category, extent, frozenset(speak[file]) if file in speak else nobody)
            for file, path, category, extent in cast("list[tuple[int, str, str, int]]", rows)
        }


def expression(words: Collection[Word]) -> str:
    """An FTS5 expression that matches every row containing at least one of the words.

    Quoting makes each of them a plain string in FTS5's grammar, so operators, column filters and prefix marks
    have no effect.
    """
    return " OR ".join('"' + word.text.replace('"', '""') + '"' for word in words)


def _values(scope: Scope) -> tuple[str | None, str]:
    return scope.category, json.dumps(sorted(scope.exclude))


def _is_in(file: File, scope: Scope) -> bool:
    return scope.category in (None, file.category) and file.path not in scope.exclude
