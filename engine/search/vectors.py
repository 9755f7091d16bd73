"""Stores the vectors in memory.db and keeps a sample of them, which represents all (spec 7.2)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import shake_256
from typing import TYPE_CHECKING

import apsw

from engine.search import schema
from engine.search.embeddings import EMBEDDING_FAULTS, embedded_text

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from engine.meaning.vectors import Floats
    from engine.search.embeddings import Embedder

NOTHING_TO_EMBED = -1
"""``chunks.vector_sum`` of a text for which the model returns no vector."""

SAMPLE = 1_024
"""Maximum number of vectors in the sample, of which there is at least an eighth."""
PLANES = 1_024
"""Bits of a vector's signs. Of the 100 nearest chunks, some 90 are among the 300 nearest by 1,024 signs, and
60 among those by one sign for each of 192 dimensions."""
_SUMS = 1 << 32


def are_from(connection: apsw.Connection, embedder: Embedder) -> bool:
    """Whether the stored vectors are from this model; ``False`` if its id cannot be determined."""
    try:
        name = embedder.id
    except EMBEDDING_FAULTS:
        return False
    meta = schema.all_meta(connection)
    return (meta["embedder"], meta["dimensions"]) == (name, str(embedder.dimensions))


def prepare(connection: apsw.Connection, embedder: Embedder) -> None:
    """Set up the table for this model and delete vectors of another model. Call within a transaction."""
    if not are_from(connection, embedder):
        connection.execute(
            "UPDATE chunks SET vector_sum = NULL, vector = x'' WHERE vector_sum IS NOT NULL;"
            " DELETE FROM sample"
        )
        schema.create_signs(connection, PLANES)
        schema.set_meta(connection, "embedder", embedder.id)
        schema.set_meta(connection, "dimensions", str(embedder.dimensions))
        schema.set_meta(connection, "sampled", str(_SUMS))


def sum_of(vector: bytes) -> int:
    """The value of ``chunks.vector_sum`` for a packed vector."""
    return zlib.crc32(vector) if vector else NOTHING_TO_EMBED


def signs_of(vectors: Floats) -> NDArray[numpy.uint8]:
    """On which sides of ``PLANES`` fixed planes vectors lie. Packed bits, uint8 ``[N, PLANES / 8]``.

    The more of them two vectors share, the smaller is the angle between them.
    """
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    return numpy.packbits(vectors @ _planes(vectors.shape[1]) > 0, axis=1)


@lru_cache(maxsize=4)
def _planes(dimensions: int) -> Floats:
    """Random planes, the same in every process and on every machine: float32 ``[dimensions, PLANES]``."""
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    bits = numpy.frombuffer(shake_256(b"planes").digest(dimensions * PLANES // 8), dtype=numpy.uint8)
    return numpy.unpackbits(bits).reshape(dimensions, PLANES) * numpy.float32(2) - numpy.float32(1)


def add(connection: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Index the packed vectors of chunks, by id. Call within a transaction."""
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    found = [row for row in rows if row[1]]
    if not found:
        return
    values = numpy.frombuffer(b"".join([vector for _, vector in found]), dtype=numpy.int8)
    signs = [each.tobytes() for each in signs_of(values.reshape(len(found), -1).astype(numpy.float32))]
    connection.executemany(
        "INSERT INTO chunk_signs (chunk, signs) VALUES (?, vec_bit(?))",
        [(chunk, each) for (chunk, _), each in zip(found, signs, strict=True)],
    )
    below = int(schema.get_meta(connection, "sampled"))
    sampled = [
        (sum_of(vector), chunk, vector, each)
        for (chunk, vector), each in zip(found, signs, strict=True)
        if sum_of(vector) < below
    ]
    connection.executemany("INSERT INTO sample VALUES (?, ?, ?, ?)", sampled)
    while sampled and connection.execute("SELECT count(*) FROM sample").get > SAMPLE and below > 1:
        below //= 2
        connection.execute("DELETE FROM sample WHERE vector_sum >= ?", (below,))
        schema.set_meta(connection, "sampled", str(below))


def remove(connection: apsw.Connection, chunks: Sequence[int]) -> None:
    """Take chunks that have been deleted out of what ``add`` made. Call within a transaction."""
    if not schema.get_meta(connection, "dimensions"):
        return
    connection.executemany("DELETE FROM chunk_signs WHERE chunk = ?", [(chunk,) for chunk in chunks])
    if int(schema.get_meta(connection, "sampled")) == _SUMS:
        return
    if connection.execute("SELECT count(*) FROM sample").get < SAMPLE // 8:
        left = max(int(connection.execute("SELECT chunks FROM totals").get), SAMPLE)
        below = _SUMS * SAMPLE // (2 * left) if left > SAMPLE else _SUMS
        connection.execute(
            "INSERT OR IGNORE INTO sample SELECT vector_sum, id, vector, signs FROM chunks"
            " CROSS JOIN chunk_signs ON chunk = id WHERE vector_sum >= 0 AND vector_sum < ?",
            (below,),
        )
        schema.set_meta(connection, "sampled", str(below))


def still_missing(connection: apsw.Connection, chunks: Sequence[int]) -> list[tuple[int, str]]:
    """Those of some chunks that still have no vector: ids and texts to embed."""
    rows = connection.execute(
        "SELECT id, speaker, heading, text FROM chunks"
        " WHERE vector_sum IS NULL AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(chunks)),),
    )
    return [(chunk, embedded_text(*words)) for chunk, *words in rows]


def complete(connection: apsw.Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Store packed vectors of chunks without one. Call within a transaction."""
    connection.executemany(
        "UPDATE chunks SET vector = ?, vector_sum = ? WHERE id = ?",
        [(vector, sum_of(vector), chunk) for chunk, vector in rows],
    )
    add(connection, rows)
