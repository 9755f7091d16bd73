"""Stores, removes and searches the vectors in memory.db (spec 7.2)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from engine.search import schema
from engine.search.embeddings import EMBEDDING_FAULTS

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats
    from engine.search.embeddings import Embedder

NOTHING_TO_EMBED = -1
"""``chunks.vector_sum`` of a text for which the model returns no vector."""

_COSINE = "1.0 - vec_distance_cosine(vec_int8(vector), vec_int8(?1))"


def are_from(connection: apsw.Connection, embedder: Embedder) -> bool:
    """Whether the stored vectors are from this model; ``False`` if its id cannot be determined."""
    try:
        name = embedder.id
    except EMBEDDING_FAULTS:
        return False
    meta = schema.all_meta(connection)
    return (meta["embedder"], meta["dimensions"]) == (name, str(embedder.dimensions))


def mismatch(vector: Floats, embedder: Embedder) -> str:
    """Why a query vector cannot be compared with the model's vectors, in one clause; empty if it can."""
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    if vector.shape != (embedder.dimensions,):
        size = " × ".join(map(str, vector.shape)) or "no list of"
        return (
            f"the embedding model returned {size} numbers for the query, but {embedder.dimensions} for each"
            " text: correct search.embedding_model or search.embedding_dimensions"
        )
    if not numpy.isfinite(vector).all():
        return "the embedding model returned a query vector that contains invalid numbers"
    return ""


def prepare(connection: apsw.Connection, embedder: Embedder) -> None:
    """Set up the table for this model and delete vectors of another model. Call within a transaction."""
    if not are_from(connection, embedder):
        schema.set_meta(connection, "another_model", "1" if schema.get_meta(connection, "embedder") else "")
        connection.execute("DELETE FROM chunk_vectors")
        connection.execute("UPDATE chunks SET vector_sum = NULL WHERE vector_sum IS NOT NULL")
        schema.set_meta(connection, "embedder", embedder.id)
        schema.set_meta(connection, "dimensions", str(embedder.dimensions))
        schema.set_meta(connection, "imaged", "-1")  # the image on disk has the other model's vectors


def mark_settled(connection: apsw.Connection) -> None:
    """Record that no chunk is missing a vector, so the model no longer counts as new."""
    with connection:
        schema.set_meta(connection, "another_model", "")


def progress(connection: apsw.Connection, embedder: Embedder) -> tuple[int, str]:
    """The number of chunks with vectors of this model, and the progress in one clause.

    The clause is empty if no chunk is missing a vector.
    """
    chunks = int(connection.execute("SELECT count(*) FROM chunks").get)
    waiting = count_missing(connection, embedder)
    nothing = 0
    if are_from(connection, embedder):
        query = "SELECT coalesce(sum(vector_sum = ?), 0) FROM chunks"
        nothing = int(connection.execute(query, (NOTHING_TO_EMBED,)).get)
        is_new = schema.get_meta(connection, "another_model") == "1"
    else:
        is_new = bool(schema.get_meta(connection, "embedder"))
    found = chunks - waiting - nothing
    if not waiting:
        return found, ""
    of_which = " of the new model" if is_new else ""
    return found, f"{chunks - waiting:,} of {chunks:,} chunks have vectors{of_which}"


def packed(vectors: Floats) -> list[bytes]:
    """Quantize vectors to int8, each scaled to the full range; ``b""`` for a row of zeros."""
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    finite = numpy.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
    peaks = numpy.abs(finite).max(axis=1, keepdims=True, initial=0.0)
    scale = numpy.divide(127.0, peaks, out=numpy.zeros_like(peaks), where=peaks > 0)
    whole = numpy.rint(finite * scale).astype(numpy.int8)
    return [row.tobytes() if peak > 0 else b"" for row, peak in zip(whole, peaks[:, 0], strict=True)]


def store(connection: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Store the packed vectors of chunks, by id. Call within a transaction."""
    for chunk, vector in rows:
        if vector:
            connection.execute("INSERT INTO chunk_vectors (chunk, vector) VALUES (?, ?)", (chunk, vector))
        connection.execute(
            "UPDATE chunks SET vector_sum = ? WHERE id = ?",
            (zlib.crc32(vector) if vector else NOTHING_TO_EMBED, chunk),
        )


def embedded_text(speaker: str, heading: str, text: str) -> str:
    """The text to embed for a chunk. A section's heading says what it is about; a turn's is only a time."""
    return f"{heading}\n{text}" if heading and not speaker else text


def count_missing(connection: apsw.Connection, embedder: Embedder) -> int:
    """The number of chunks this model has not embedded yet."""
    condition = "vector_sum IS NULL" if are_from(connection, embedder) else "true"
    return int(connection.execute(f"SELECT count(*) FROM chunks WHERE {condition}").get)


def missing_texts(connection: apsw.Connection, embedder: Embedder, limit: int) -> list[tuple[int, str]]:
    """Chunks this model has not embedded yet: ids and texts to embed."""
    condition = "vector_sum IS NULL" if are_from(connection, embedder) else "true"
    rows = connection.execute(
        f"SELECT id, speaker, heading, text FROM chunks WHERE {condition} ORDER BY id LIMIT ?", (limit,)
    )
    return [(chunk, embedded_text(*words)) for chunk, *words in rows]


def still_missing(connection: apsw.Connection, chunks: Sequence[int]) -> list[tuple[int, str]]:
    """The given chunks that still have no vector, in the form of ``missing_texts``."""
    rows = connection.execute(
        "SELECT id, speaker, heading, text FROM chunks"
        " WHERE vector_sum IS NULL AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunks)),),
    )
    return [(chunk, embedded_text(*words)) for chunk, *words in rows]


def complete(connection: apsw.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store packed vectors of chunks without one and stamp their files. Call within a transaction."""
    store(connection, rows)
    connection.execute(
        "UPDATE files SET stamp = ? WHERE id IN"
        " (SELECT file_id FROM chunks WHERE id IN (SELECT value FROM json_each(?)))",
        (schema.next_stamp(connection), json.dumps([chunk for chunk, _ in rows])),
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

    Requires sqlite-vec on the connection.
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
    """The cosine of each given chunk to a packed vector, except chunks without one. Requires sqlite-vec."""
    rows = connection.execute(
        f"SELECT chunk, {_COSINE} FROM chunk_vectors WHERE chunk IN (SELECT value FROM json_each(?2))",
        (query, json.dumps(list(chunks))),
    )
    return {chunk: cosine for chunk, cosine in rows if cosine is not None}
