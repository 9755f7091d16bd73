"""Stores the vectors in memory.db, and their signs, by which they are found (spec 7.2)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
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
"""``vectors.sum`` of a text for which the model returns no vector."""

SAMPLE = 1_024
"""Maximum number of vectors that represent all: those with the smallest sums."""
PLANES = 1_024
"""Bits of a vector's signs. Of the 100 nearest chunks, some 90 are among the 300 nearest by 1,024 signs, and
60 among those by one sign for each of 192 dimensions."""


def are_from(connection: apsw.Connection, embedder: Embedder | None) -> bool:
    """Whether the stored vectors are from this model; ``False`` if its id cannot be determined."""
    try:
        wanted = embedder and (embedder.id, str(embedder.dimensions))
    except EMBEDDING_FAULTS:
        return False
    meta = schema.all_meta(connection)
    return wanted == (meta["embedder"], meta["dimensions"])


def sum_of(vector: bytes) -> int:
    """The value of ``vectors.sum`` for a packed vector."""
    return zlib.crc32(vector) if vector else NOTHING_TO_EMBED


def signs_of(vectors: Floats) -> NDArray[numpy.uint8]:
    """On which sides of ``PLANES`` fixed planes vectors lie. Packed bits, uint8 ``[N, PLANES / 8]``.

    The more of them two vectors share, the smaller is the angle between them.
    """
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    return numpy.packbits(vectors @ _planes(vectors.shape[1]) > 0, axis=1)


def packed_signs(packed: Sequence[bytes]) -> list[bytes | None]:
    """The signs of packed vectors; ``None`` for an empty one."""
    import numpy  # noqa: PLC0415 — as above

    there = [vector for vector in packed if vector]
    values = numpy.frombuffer(b"".join(there), dtype=numpy.int8).astype(numpy.float32)
    signs = iter(signs_of(values.reshape(len(there), -1)) if there else ())
    return [next(signs).tobytes() if vector else None for vector in packed]


@lru_cache(maxsize=4)
def _planes(dimensions: int) -> Floats:
    """Random planes, the same in every process and on every machine: float32 ``[dimensions, PLANES]``."""
    import numpy  # noqa: PLC0415 — as above

    bits = numpy.frombuffer(shake_256(b"planes").digest(dimensions * PLANES // 8), dtype=numpy.uint8)
    return numpy.unpackbits(bits).reshape(dimensions, PLANES) * numpy.float32(2) - numpy.float32(1)


def store(
    connection: apsw.Connection,
    embedder: Embedder,
    rows: Sequence[tuple[int, str]],
    packed: Sequence[bytes],
) -> None:
    """Store the packed vectors of chunks, given by id and text, and delete those of another model.

    Call within a transaction.
    """
    if not are_from(connection, embedder):
        connection.execute(
            "DELETE FROM vectors; DROP TABLE IF EXISTS chunk_signs;"
            f" CREATE VIRTUAL TABLE chunk_signs USING vec0 (chunk INTEGER PRIMARY KEY, signs BIT[{PLANES}])"
        )
        schema.set_meta(connection, "embedder", embedder.id)
        schema.set_meta(connection, "dimensions", str(embedder.dimensions))
    # A chunk may have been removed by now, or the index rebuilt, and its id reused.
    waiting = {
        chunk: embedded_text(*words)
        for chunk, *words in connection.execute(
            "SELECT id, speaker, heading, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM vectors WHERE chunk = id)",
            (json.dumps([chunk for chunk, _ in rows]),),
        )
    }
    found = [
        (chunk, vector, signs)
        for (chunk, text), vector, signs in zip(rows, packed, packed_signs(packed), strict=True)
        if waiting.get(chunk) == text
    ]
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?, ?)",
        [(chunk, sum_of(vector), vector) for chunk, vector, _ in found],
    )
    connection.executemany(
        "INSERT INTO chunk_signs (chunk, signs) VALUES (?, vec_bit(?))",
        [(chunk, signs) for chunk, _, signs in found if signs],
    )


def remove(connection: apsw.Connection, chunks: Sequence[int]) -> None:
    """Delete the signs of chunks. Call within a transaction."""
    if chunks and schema.get_meta(connection, "dimensions"):
        connection.executemany("DELETE FROM chunk_signs WHERE chunk = ?", [(chunk,) for chunk in chunks])
