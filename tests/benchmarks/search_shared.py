"""Search in a shared index in PostgreSQL, compared with the obvious tables of pgvector in the same server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy

from engine.search.chunks import split
from engine.search.embeddings import LocalEmbedder
from engine.search.index import SearchIndex
from engine.search.postgres.shared import SharedIndex
from engine.search.query import literal_terms
from engine.search.state import EVERYWHERE, State
from engine.search.table import Table
from engine.search.vectors import signs_of
from engine.settings.model import SearchSettings
from engine.store.files import Files
from tests.benchmarks.inputs import Words, write_transcripts
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.search_scale import TURNS
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate, once
from tests.search.postgres.servers import Postgres, committed, started

_NEAREST = 100
_PATIENT_S = 120.0
"""Seconds to read all vectors, and what is found of them."""


class Raw:
    """A table of texts and vectors, with an index for each."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        connection.execute(
            "CREATE EXTENSION IF NOT EXISTS vector; CREATE TABLE raw (id bigint, text text,"
            " words tsvector GENERATED ALWAYS AS (to_tsvector('english', text)) STORED, near halfvec(192));"
            "CREATE INDEX ON raw USING gin (words); CREATE INDEX ON raw USING hnsw (near halfvec_ip_ops)"
        )

    def insert(self, texts: Sequence[str], vectors: Any) -> None:
        with self._connection.cursor().copy("COPY raw (id, text, near) FROM STDIN") as copy:
            for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
                copy.write_row((number, text, str(vector.tolist())))

    def search(self, words: Sequence[str], vector: Any) -> object:
        """The best 50 by each."""
        asked = " or ".join(words)
        by_words = self._connection.execute(
            "SELECT id, text FROM raw, websearch_to_tsquery('english', %s) AS asked WHERE words @@ asked"
            " ORDER BY ts_rank(words, asked) DESC LIMIT 50",
            (asked,),
        ).fetchall()
        near = self._connection.execute(
            "SELECT id, text FROM raw ORDER BY near <#> %s::halfvec LIMIT 50", (str(vector.tolist()),)
        ).fetchall()
        return by_words, near


def run(setting: Setting) -> Iterator[Row]:
    """Time building and searching, and count how many of the nearest are found."""
    with started() as server:
        for size in setting.sizes(1_000, 10_000, 100_000):
            with server.database() as name, server.connect(name) as connection:
                yield from _measured(setting, size, server, name, connection)


def _measured(setting: Setting, size: int, server: Postgres, name: str, connection: Any) -> Iterator[Row]:
    words = Words(3)
    workspace = setting.workspace(f"shared-{size}")
    paths = write_transcripts(words, workspace.root, max(2, setting.size(size, 48) // TURNS))
    committed(workspace.root)
    questions, model = words.questions(setting.size(200, 4)), LocalEmbedder()
    texts = [
        piece.chunk.text
        for path in paths
        for piece in split((workspace.root / path).read_bytes(), path, "conversation").pieces
    ]
    raw = Raw(connection)
    bare, _ = once(lambda: raw.insert(texts, model.embed(texts)))
    index = SearchIndex(workspace, Files(workspace), SearchSettings(), model, url=server.url(name))
    with closing(index):
        made, _ = once(index.refresh)
        connection.execute("ANALYZE")
        agree(index.search(questions[0])[0].source == "index", "the index does not answer")
        hybrid, both = alternate(
            [
                lambda number: index.search(questions[number % len(questions)]),
                lambda number: raw.search(
                    literal_terms(questions[number % len(questions)]),
                    model.embed([questions[number % len(questions)]])[0],
                ),
            ],
            rounds=setting.size(100, 2),
            warm_up=3,
        )
        assert isinstance(index._storage, SharedIndex)
        with index._storage.read(_PATIENT_S) as state:
            state.dimensions = model.dimensions
            every = state.table(state.all(), [], [], EVERYWHERE)
            found = float(numpy.mean([_recall(state, every, each) for each in model.embed(questions[:50])]))
    label = f"{size:,} chunks, shared"
    yield Row(f"{label}, index made", made, "pgvector with tsvector, COPY", bare)
    note = f"p95 {1e3 * hybrid.p95:,.0f} ms against {1e3 * both.p95:,.0f} ms; recall@{_NEAREST} {found:.3f}"
    yield Row(
        f"{label}, by words and meaning", hybrid, "pgvector and tsvector", both, note, {"recall": found}
    )


def _recall(state: State, every: Table, vector: Any) -> float:
    """The share of the chunks nearest by signs that the HNSW index finds."""
    near = state.by_vector(vector, _NEAREST, EVERYWHERE)
    apart = numpy.bitwise_count(signs_of(every.vectors) ^ signs_of(vector[None, :])).sum(axis=1, dtype=int)
    # By distance, because as many as share the last one are right.
    most = numpy.sort(apart)[:_NEAREST][-1]
    found = numpy.count_nonzero(apart[numpy.isin(every.chunks, near)] <= most)
    return found / min(_NEAREST, len(every))
