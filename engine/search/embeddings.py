"""The interface of embedding models, and the models that need no network (spec 7.2)."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, EmbeddingFailed

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats, TokenVectors


class Embedder(ABC):
    """Maps texts to vectors whose cosine measures similarity."""

    id: str
    """Names model and version; vectors of different ids are never compared."""
    dimensions: int
    """Length of every vector, a multiple of 8."""
    is_slow = False
    """Whether it takes milliseconds or more per text, or may fail to answer. Files can then be found by their
    words before the model has been called, and a search never waits long for it."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit vector per text, float32 ``[len(texts), dimensions]``.

        The row is all zeros for a text that has no vector.

        Raises:
            AutopoiesisError: The model cannot answer now.
        """

    def embed_query(self, text: str) -> Floats:
        """The vector of a query, float32 ``[dimensions]``, within a short time.

        Raises:
            AutopoiesisError: The model cannot answer in time, or failed to a moment ago.
        """
        found: Floats = self.embed([text])[0]
        return found

    def close(self) -> None:  # noqa: B027 — only a slow model has such calls
        """Abort calls in progress; they raise an error."""


BATCH_TEXTS, SLOW_TEXTS = 512, 128
"""Texts that a model, and a slow one, is given at once."""


EMBEDDING_FAULTS = (AutopoiesisError, OSError, ValueError, RuntimeError)
"""What a model may raise without failing the search by words."""


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """The vectors of texts, ``packed``.

    Raises:
        EmbeddingFailed: The model failed, whose message is one clause.
    """
    try:
        found = embedder.embed(texts)
    except EMBEDDING_FAULTS as error:
        raise EmbeddingFailed(f"the embedding model failed ({error})") from error
    if found.shape != (len(texts), embedder.dimensions):
        raise EmbeddingFailed("the embedding model's vectors do not have the declared size")
    return packed(found)


def embedded_text(speaker: str, heading: str, text: str) -> str:
    """The text to embed for a chunk. A section's heading says what it is about; a turn's is only a time."""
    return f"{heading}\n{text}" if heading and not speaker else text


def packed(vectors: Floats) -> list[bytes]:
    """Quantize vectors to int8, each scaled to the full range; ``b""`` for a row of zeros."""
    import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

    finite = numpy.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
    peaks = numpy.abs(finite).max(axis=1, keepdims=True, initial=0.0)
    scale = numpy.divide(127.0, peaks, out=numpy.zeros_like(peaks), where=peaks > 0)
    whole = numpy.rint(finite * scale).astype(numpy.int8)
    return [row.tobytes() if peak > 0 else b"" for row, peak in zip(whole, peaks[:, 0], strict=True)]


class LocalEmbedder(Embedder):
    """The static vectors that ship with the product (``engine.meaning``): 192 dimensions, no network.

    Thread-safe; loads on first use, in about 50 ms. Reads the first 128 and the last 128 tokens of a text.
    """

    dimensions = 192

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loaded: TokenVectors | None = None

    @property
    def id(self) -> str:  # type: ignore[override]  # read when it is asked for
        """See ``Embedder.id``."""
        return f"pieces-{self._vectors().version}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """See ``Embedder.embed``.

        Raises:
            AutopoiesisError: The vectors cannot be read.
        """
        return self._vectors().embed(texts)

    def _vectors(self) -> TokenVectors:
        from engine.meaning.vectors import TokenVectors  # noqa: PLC0415 — imports numpy

        with self._guard:
            if self._loaded is None:
                self._loaded = TokenVectors()
            return self._loaded
