"""The table of vectors: stored, removed, and searched by nearness (spec 7.2)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from engine.search import schema

if TYPE_CHECKING:
    from engine.search.embeddings import Embedder, Floats

NOTHING_TO_EMBED = -1
"""``chunks.vector_sum`` of a text the model can say nothing about."""

_COSINE = "1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?1))"


def are_of(connection: apsw.Connection, embedder: Embedder) -> bool:
    """Whether the stored vectors can be compared with those of this model."""
    described = (schema.get_meta(connection, "embedder"), schema.get_meta(connection, "dimensions"))
    return described == (embedder.id, str(embedder.dimensions))


def prepare(connection: apsw.Connection, embedder: Embedder) -> None:
    """Make the table one of this model's vectors; those of another model go. Inside a transaction."""
    if not are_of(connection, embedder):
        connection.execute("DELETE FROM chunk_vectors")
        connection.execute("UPDATE chunks SET vector_sum = NULL WHERE vector_sum IS NOT NULL")
        schema.set_meta(connection, "embedder", embedder.id)
        schema.set_meta(connection, "dimensions", str(embedder.dimensions))


def packed(vectors: Floats) -> list[bytes]:
    """Vectors as bytes of signed integers, each stretched to the full range; ``b""`` for a row of zeros."""
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    finite = numpy.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
    peaks = numpy.abs(finite).max(axis=1, keepdims=True, initial=0.0)
    scale = numpy.divide(127.0, peaks, out=numpy.zeros_like(peaks), where=peaks > 0)
    whole = numpy.rint(finite * scale).astype(numpy.int8)
    return [row.tobytes() if peak > 0 else b"" for row, peak in zip(whole, peaks[:, 0], strict=True)]


def store(connection: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Store the packed vectors of chunks, by id. Inside a transaction."""
    for chunk, vector in rows:
        if vector:
            connection.execute("INSERT INTO chunk_vectors (chunk, vector) VALUES (?, ?)", (chunk, vector))
        connection.execute(
            "UPDATE chunks SET vector_sum = ? WHERE id = ?",
            (zlib.crc32(vector) if vector else NOTHING_TO_EMBED, chunk),
        )


def nearest(
    connection: apsw.Connection,
    query: bytes,
    count: int,
    *,
    category: str | None = None,
    exclude: Collection[str] = (),
) -> list[tuple[int, float, str, int]]:
    """The chunks nearest to a packed vector: row id, cosine, path and first line, nearest first.

    Args:
        connection: With sqlite-vec.
        query: A packed vector.
        count: How many.
        category: Only chunks of files of this category.
        exclude: Paths of files left out.
    """
    among = ""
    if category is not None or exclude:
        among = (
            " WHERE chunk IN (SELECT chunks.id FROM files JOIN chunks ON chunks.file_id = files.id"
            " WHERE (?3 IS NULL OR files.category = ?3)"
            " AND files.path NOT IN (SELECT value FROM json_each(?4)))"
        )
    rows = connection.execute(
        "SELECT near.chunk, near.cosine, files.path, chunks.start_line FROM"
        f" (SELECT chunk, {_COSINE} AS cosine FROM chunk_vectors{among} ORDER BY 2 DESC LIMIT ?2) AS near"
        " JOIN chunks ON chunks.id = near.chunk JOIN files ON files.id = chunks.file_id"
        " ORDER BY near.cosine DESC",
        (query, count, category, json.dumps(sorted(exclude))) if among else (query, count),
    )
    return [(chunk, cosine, path, line) for chunk, cosine, path, line in rows if cosine is not None]


def cosines(connection: apsw.Connection, query: bytes, chunks: Sequence[int]) -> dict[int, float]:
    """The cosine of given chunks to a packed vector; those without one are left out. Needs sqlite-vec."""
    rows = connection.execute(
        f"SELECT chunk, {_COSINE} FROM chunk_vectors WHERE chunk IN (SELECT value FROM json_each(?2))",
        (query, json.dumps(list(chunks))),
    )
    return {chunk: cosine for chunk, cosine in rows if cosine is not None}
