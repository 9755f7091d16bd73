"""Raw alternatives to what the engine does: the obvious loops, and those of the specification."""

from __future__ import annotations

import importlib
import os
import re
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from engine.search.database import load_vectors
from engine.search.embeddings import packed
from engine.topics.model import Topic, Trigger


class PatternLoop:
    """Tier 1 as a loop that searches every message for every expression of every topic."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._topics = [
            (topic.name, [re.compile(source, re.IGNORECASE) for source in _expressions(topic.triggers)])
            for topic in topics
        ]

    def match(self, text: str) -> set[str]:
        """The topics with a hit; every trigger is tried, because a trace needs all of them."""
        found = set()
        for name, expressions in self._topics:
            hits = [expression.search(text) for expression in expressions]
            if any(hits):
                found.add(name)
        return found


def _expressions(triggers: Iterable[Trigger]) -> list[str]:
    expressions = []
    for trigger in triggers:
        if trigger.type == "pattern":
            expressions.append(trigger.match)
        elif trigger.type in ("keywords", "mention"):
            expressions.append(rf"\b(?:{'|'.join(map(re.escape, trigger.words))})\b")
    return expressions


class SimilarityLoop:
    """Tier 2 as in the specification, with scikit-learn (spec 4.2)."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.metrics.pairwise import cosine_similarity

        self._cosine = cosine_similarity
        self._vectorizer = TfidfVectorizer(max_features=5000)
        self._matrix = self._vectorizer.fit_transform([topic.instructions for topic in topics])
        self._names = [topic.name for topic in topics]

    def score(self, text: str) -> dict[str, float]:
        """The cosine of every topic with the message."""
        scores = self._cosine(self._vectorizer.transform([text]), self._matrix)[0]
        return {name: float(score) for name, score in zip(self._names, scores, strict=True)}


class SemanticRouter:
    """semantic-router's indexed router over the topics' examples, if installed.

    It uses this product's static embedding, so that it needs no network. It finds the examples nearest to a
    message and averages them per topic.

    Attributes:
        encoder: The embedding's name.
    """

    encoder = "the shipped vectors"

    def __init__(self, router: Callable[[str], object]) -> None:
        self._router = router

    @classmethod
    def of(cls, topics: Sequence[Topic]) -> SemanticRouter | None:
        """A router for topics, or ``None`` if the package is missing or older than 1.0."""
        try:
            package: Any = importlib.import_module("semantic_router")
            encoders: Any = importlib.import_module("semantic_router.encoders")
            make = package.IndexedRouter
        except (ImportError, AttributeError):
            return None
        from engine.search.embeddings import LocalEmbedder

        embedder = LocalEmbedder()
        encode = types.new_class(
            "Encoder",
            (encoders.DenseEncoder,),
            exec_body=lambda body: body.update(
                __call__=lambda _, texts: embedder.embed(texts).tolist(), __module__=__name__
            ),
        )
        routes = [package.Route(name=topic.name, utterances=list(topic.examples)) for topic in topics]
        return cls(make(encoder=encode(name=cls.encoder), routes=routes))

    def route(self, text: str) -> object:
        """The topic it chooses, with its score."""
        return self._router(text)


class WordTable:
    """A bare FTS5 table."""

    def __init__(self, path: Path | str) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "normal")
        self._connection.execute(
            "CREATE VIRTUAL TABLE chunks USING fts5(text, heading, about, tokenize='porter unicode61')"
        )

    def insert(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Insert rows in one transaction."""
        with self._connection:
            self._connection.executemany("INSERT INTO chunks (text, heading, about) VALUES (?, ?, ?)", rows)

    def optimise(self) -> None:
        """Merge the table's segments, as a finished index does."""
        self._connection.execute("INSERT INTO chunks (chunks) VALUES ('optimize')")

    def search(self, terms: Iterable[str], limit: int = 10) -> list[tuple[int, str]]:
        """Row id and text of the rows that contain any of the terms, best first."""
        expression = " OR ".join(f'"{term}"' for term in terms)
        rows = self._connection.execute(
            "SELECT rowid, text FROM chunks WHERE chunks MATCH ? ORDER BY rank LIMIT ?", (expression, limit)
        )
        return [(int(row), str(text)) for row, text in rows]

    def put(self, row: int, values: tuple[str, str, str]) -> None:
        """Replace one row in its own transaction."""
        with self._connection:
            self._connection.execute("DELETE FROM chunks WHERE rowid = ?", (row,))
            self._connection.execute(
                "INSERT INTO chunks (rowid, text, heading, about) VALUES (?, ?, ?, ?)", (row, *values)
            )

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


class VectorTable:
    """A bare sqlite-vec table of int8 vectors, searched by their cosine."""

    def __init__(self, path: Path | str, vectors: Any) -> None:
        self._connection = apsw.Connection(str(path))
        load_vectors(self._connection)
        self._connection.execute(
            "CREATE VIRTUAL TABLE chunks USING"
            f" vec0 (chunk INTEGER PRIMARY KEY, vector INT8[{vectors.shape[1]}] distance_metric=cosine)"
        )
        with self._connection:
            self._connection.executemany(
                "INSERT INTO chunks (chunk, vector) VALUES (?, vec_int8(?))", enumerate(packed(vectors), 1)
            )

    def search(self, vector: Any, limit: int = 50) -> list[int]:
        """The rows nearest to a vector, nearest first."""
        rows = self._connection.execute(
            "SELECT chunk FROM chunks WHERE vector MATCH vec_int8(?) AND k = ?",
            (packed(vector[None, :])[0], limit),
        )
        return [int(str(row)) for (row,) in rows]

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def stat_all(root: Path) -> int:
    """Stat every file below a folder; returns their number."""
    count = 0
    for folder, _, names in os.walk(root):
        for name in names:
            os.stat(os.path.join(folder, name))
            count += 1
    return count


def append(path: Path, data: bytes) -> None:
    """Open, write, fsync, close."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)


def replace(path: Path, data: bytes) -> None:
    """Write a temporary file next to it, fsync, rename, fsync the folder."""
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(descriptor, data)
    os.fsync(descriptor)
    os.close(descriptor)
    os.rename(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def token_counter() -> Callable[[str], int]:
    """The bare tokenizer, whichever is installed."""
    try:
        from rs_bpe import bpe
    except ImportError:
        import bpe_openai

        encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
        return lambda text: len(encode(text))
    count: Callable[[str], int] = bpe.openai.o200k_base().count
    return count


class Tantivy:
    """Tantivy's in-memory index, if installed, with English stemming, matching any of the words."""

    def __init__(self, package: Any, texts: Iterable[str]) -> None:
        schema = package.SchemaBuilder().add_text_field("text", stored=True, tokenizer_name="en_stem").build()
        self._index = package.Index(schema)
        writer = self._index.writer()
        for text in texts:
            writer.add_document(package.Document(text=text))
        writer.commit()
        self._index.reload()
        self._searcher = self._index.searcher()

    @classmethod
    def of(cls, texts: Iterable[str]) -> Tantivy | None:
        """An index of texts, or ``None`` if the package is missing."""
        try:
            package = importlib.import_module("tantivy")
        except ImportError:
            return None
        return cls(package, texts)

    def search(self, terms: Iterable[str], limit: int = 10) -> list[str]:
        """The texts that contain any of the terms, best first."""
        query = self._index.parse_query(" ".join(terms), ["text"])
        hits = self._searcher.search(query, limit).hits
        return [str(self._searcher.doc(address)["text"][0]) for _, address in hits]


class Matrix:
    """Vectors as a float32 matrix, searched at memory speed."""

    def __init__(self, vectors: Any) -> None:
        import numpy

        self._numpy = numpy
        self._vectors = numpy.ascontiguousarray(vectors, dtype=numpy.float32)

    def search(self, query: Any, limit: int = 10) -> list[int]:
        """The rows nearest to a vector, nearest first."""
        numpy = self._numpy
        scores = self._vectors @ query
        count = min(limit, len(scores))
        best = numpy.argpartition(-scores, count - 1)[:count]
        return [int(row) for row in best[numpy.argsort(-scores[best])]]
