"""A shared index in PostgreSQL as an engine: GIN and HNSW indexes name candidates (spec 7.2).

As in memory.db, only the rarest words are looked up, or the latest chunks with a common one, and the ranking
is the same. A clone sees its own version of each file; of a file that it has not, the newest.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy

from engine.errors import IndexFailed
from engine.search.engines import AWAY, Scope, Text, Word, rarest
from engine.search.facts import day_of
from engine.search.past import Past, Session, joined
from engine.search.sqlite import TURNS
from engine.search.table import Corpus, File, Table, scales_of, table_of
from engine.search.vectors import SAMPLE, signs_of

if TYPE_CHECKING:
    from engine.search.postgres.place import Place
    from engine.search.postgres.schema import Server
    from engine.search.table import Floats

_ROW = "chunks.id, content, position, length, size, day, name, kind, is_person, array_send(terms), counts"
_LARGE, _EXAMINED = 20_000, 1_000
"""In an index with more chunks, pgvector keeps more neighbours while it walks its graph. Of the 100 nearest
of 100,000 chunks of random words .97 are found then, and .85 with 300 neighbours; of 10,000 passages that
people wrote, 300 find .99."""
_STALE = 1 / 8
"""Share of chunks added or removed after which the sample of vectors is read again."""


class Samples:
    """The samples of vectors that represent all, by model. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: dict[int, tuple[int, Floats]] = {}

    def get(self, server: Server, model: int, dimensions: int, chunks: int) -> Floats:
        """The sample; read again only if the index has grown or shrunk by a share."""
        with self._guard:
            known = self._known.get(model)
        if known is not None and abs(chunks - known[0]) <= _STALE * known[0] and known[0] > SAMPLE:
            return known[1]
        rows = server.execute(
            "SELECT vector FROM vectors WHERE model = %s AND sum >= 0 ORDER BY sum LIMIT %s", (model, SAMPLE)
        ).fetchall()
        packed = b"".join([vector for (vector,) in rows])
        whole = numpy.frombuffer(packed, dtype=numpy.int8).reshape(-1, dimensions).astype(numpy.float32)
        found: Floats = whole * scales_of(whole)[:, None]
        with self._guard:
            self._known[model] = chunks, found
        return found


class PostgresEngine:
    """One state of a shared index (``engine.search.engines.Engine``).

    Args:
        server: In a transaction.
        model: The row id of the model of the vectors; 0 to read none.
    """

    def __init__(self, server: Server, place: Place, samples: Samples, model: int, dimensions: int) -> None:
        self._server = server
        self._place = place
        self._samples = samples
        self._model = model if dimensions else 0
        self._dimensions = dimensions

    @cached_property
    def _hidden(self) -> list[int]:
        """The contents that this machine does not see."""
        return hidden(self._server, self._place)

    def corpus(self, terms: Collection[int], *, with_sample: bool) -> Corpus:
        """See ``Engine.corpus``."""
        asked, workspace = [signed(term) for term in terms], self._place.workspace
        held = self._server.execute(
            "SELECT term, chunks FROM terms WHERE workspace = %s AND term = ANY (%s)", (workspace, asked)
        ).fetchall()
        speakers = self._server.execute(
            "SELECT term FROM unnest(%s::bigint[]) AS term WHERE EXISTS ("
            " SELECT FROM chunks WHERE workspace = %s AND name = term AND name <> 0"
            f" GROUP BY content HAVING count(*) >= {TURNS})",
            (list(terms), workspace),
        ).fetchall()
        sample = numpy.zeros((0, self._dimensions), dtype=numpy.float32)
        if with_sample and self._model:
            sample = self._samples.get(self._server, self._model, self._dimensions, self._place.chunks)
        return Corpus(
            self._place.chunks,
            self._place.length,
            self._place.files,
            held={term & 0xFFFF_FFFF: chunks for term, chunks in held},
            speakers=frozenset(term for (term,) in speakers),
            sample=sample,
        )

    def all(self) -> list[int]:
        """See ``Engine.all``."""
        return self._ids(
            "SELECT id FROM chunks WHERE workspace = %s AND content <> ALL (%s::bigint[])",
            (self._place.workspace, self._hidden),
        )

    def by_words(self, words: Sequence[Word], count: int, scope: Scope) -> list[int]:
        """See ``Engine.by_words``."""
        chosen, share = rarest(words)
        if not chosen:
            return []
        after = 0
        if share < 1:
            # Ids have gaps, so the latest chunks are counted, not computed.
            rows = self._ids(
                "SELECT id FROM chunks WHERE workspace = %s ORDER BY id DESC OFFSET %s LIMIT 1",
                (self._place.workspace, int(self._place.chunks * share)),
            )
            after = rows[0] if rows else 0
        chunks = self._place.chunks
        return self._ids(
            "SELECT by_words(%s::integer[], %s::real[], %s, %s::bigint[], %s, %s)",
            (
                [signed(word.number) for word in chosen],
                [math.log(1 + (chunks - word.held + 0.5) / (word.held + 0.5)) for word in chosen],
                after,
                self._out(scope),
                scope.category or "",
                count,
            ),
        )

    def by_vector(self, vector: Floats, count: int, scope: Scope) -> list[int]:
        """See ``Engine.by_vector``."""
        (signs,) = signs_of(vector[None, :])
        if self._place.chunks > _LARGE:
            self._server.execute(f"SET LOCAL hnsw.ef_search = {_EXAMINED}".encode())
        return self._ids(
            "SELECT by_signs(%s::bit varying, %s, %s::bigint[], %s, %s)",
            (bits(signs.tobytes()), self._model, self._out(scope), scope.category or "", count),
        )

    def table(
        self, chunks: Collection[int], leaders: Collection[int], names: Collection[int], scope: Scope
    ) -> Table:
        """See ``Engine.table``."""
        rows = self._server.execute(
            f"SELECT {_ROW}, coalesce(vector, '') FROM (SELECT unnest(%s::bigint[]) AS id"
            " UNION SELECT near.id FROM chunks AS led JOIN chunks AS near ON near.content = led.content"
            f" AND near.position BETWEEN led.position - {AWAY} AND led.position + {AWAY}"
            " WHERE led.id = ANY (%s::bigint[])) AS wanted JOIN chunks USING (id)"
            " LEFT JOIN vectors ON chunk = chunks.id AND model = %s",
            (list(chunks), list(leaders), self._model),
            binary=True,
        ).fetchall()
        found = [(*row[:9], _unsigned(row[9]), *row[10:]) for row in rows]
        files = self._files({row[1] for row in rows}, names)
        inside = {file: each for file, each in files.items() if _is_in(each, scope)}
        try:
            return table_of(found, inside, self._dimensions)
        except (TypeError, ValueError) as error:
            raise IndexFailed(
                f"a chunk of the shared index differs from what was written ({error})"
            ) from error

    def texts(self, chunks: Collection[int]) -> Mapping[int, Text]:
        """See ``Engine.texts``."""
        rows = self._server.execute(
            "SELECT id, start_line, end_line, heading, date, speaker, about, text FROM chunks"
            " WHERE id = ANY (%s)",
            (list(chunks),),
        )
        return {chunk: Text._make(text) for chunk, *text in rows}

    def _ids(self, query: str, values: Sequence[Any]) -> list[int]:
        return [chunk for (chunk,) in self._server.execute(query.encode(), values).fetchall()]

    def _out(self, scope: Scope) -> list[int]:
        """The contents in which not to look."""
        if not scope.exclude:
            return self._hidden
        excluded = self._ids(
            "SELECT id FROM contents WHERE workspace = %s AND path = ANY (%s)",
            (self._place.workspace, sorted(scope.exclude)),
        )
        return [*self._hidden, *excluded]

    def _files(self, files: Collection[int], names: Collection[int]) -> dict[int, File]:
        asked = sorted(files)
        speak: dict[int, set[int]] = {}
        if names:
            for file, name in self._server.execute(
                "SELECT DISTINCT content, name FROM chunks WHERE name = ANY (%s::bigint[]) AND name <> 0"
                " AND content = ANY (%s::bigint[])",
                (list(names), asked),
            ):
                speak.setdefault(file, set()).add(name)
        rows = self._server.execute(
            "SELECT id, path, category, extent FROM contents WHERE id = ANY (%s::bigint[])", (asked,)
        ).fetchall()
        return {
            file: File(path, category, extent, frozenset(speak.get(file, ())))
            for file, path, category, extent in rows
        }


class PastSessions:
    """Provides the sessions that this clone itself holds. Thread-safe; what it returns is immutable.

    What another person's clone holds is found by a search, but told to no one unasked.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._seen = (0, 0, -1)
        self._sessions: dict[tuple[int, int], Session] = {}
        self._past = Past()

    def read(self, server: Server, place: Place) -> Past:
        """The past as seen by a connection in a transaction."""
        seen = (place.workspace, place.holder, place.stamp)
        with self._guard:
            if seen == self._seen:
                return self._past
            held = server.execute(
                "SELECT contents.id, stamp FROM holdings JOIN contents ON contents.id = content"
                " JOIN sessions USING (content) WHERE holder = %s",
                (place.holder,),
            ).fetchall()
            known = {key: self._sessions[key] for key in held if key in self._sessions}
            missing = [key for key in held if key not in known]
            stamps: dict[int, int] = dict(missing)
            for content, path, date, words, places, lengths, spoken in server.execute(
                "SELECT content, path, contents.date, words, places, lengths, spoken"
                " FROM sessions JOIN contents ON contents.id = content WHERE content = ANY (%s::bigint[])",
                (list(stamps),),
                binary=True,
            ):
                known[content, stamps[content]] = Session(
                    content,
                    path,
                    day_of(date),
                    numpy.frombuffer(words, dtype=numpy.uint32),
                    numpy.frombuffer(places, dtype=numpy.int32).reshape(-1, 4),
                    numpy.frombuffer(lengths, dtype=numpy.int32),
                    numpy.frombuffer(spoken, dtype=numpy.uint32),
                )
            self._seen, self._sessions = seen, known
            self._past = joined(list(known.values()))
            return self._past


def hidden(server: Server, place: Place) -> list[int]:
    """The contents that a machine does not see: versions of files of which it has another one, or the newest
    is another one, and of files that it has deleted or could not read.
    """
    rows = server.execute(
        "SELECT id FROM contents AS each WHERE workspace = %(workspace)s AND rival AND id <> ("
        " SELECT other.id FROM contents AS other"
        " LEFT JOIN holdings ON content = other.id AND holder = %(holder)s"
        " WHERE other.workspace = each.workspace AND other.path = each.path"
        " ORDER BY content IS NULL, stamp DESC, other.id DESC LIMIT 1)"
        " UNION SELECT contents.id FROM holdings JOIN contents USING (workspace, path)"
        " WHERE holder = %(holder)s AND content IS NULL",
        {"workspace": place.workspace, "holder": place.holder},
    ).fetchall()
    return [content for (content,) in rows]


def signed(term: int) -> int:
    """A term number as PostgreSQL stores it."""
    return term - (1 << 32) if term >= 1 << 31 else term


def signed_all(terms: bytes) -> list[int]:
    """The packed terms of ``Facts`` as PostgreSQL stores them."""
    return array("i", terms).tolist()


def bits(signs: bytes) -> str:
    """Packed signs as PostgreSQL reads a ``bit``."""
    return f"x{signs.hex()}"


def _unsigned(sent: bytes) -> bytes:
    """Terms as packed in ``Facts``, from an array as PostgreSQL sends it: a header of 20 bytes, then the
    length of each number and the number, both with the highest byte first.
    """
    return numpy.frombuffer(sent[20:], dtype=">u4")[1::2].astype(numpy.uint32).tobytes()


def _is_in(file: File, scope: Scope) -> bool:
    return scope.category in (None, file.category) and file.path not in scope.exclude
