"""The interface of embedding models, and the models that need no network (spec 7.2)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.errors import AutopoiesisError, EmbeddingFailed

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats, TokenVectors


class Embedder(Protocol):
    """Maps texts to vectors whose cosine measures similarity."""

    @property
    def id(self) -> str:
        """Names model and version; vectors of different ids are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector, a multiple of 8."""
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit vector per text, float32 ``[len(texts), dimensions]``.

        The row is all zeros for a text that has no vector.

        Raises:
            AutopoiesisError: The model cannot answer now.
        """
        ...


@runtime_checkable
class Slow(Protocol):
    """A model that takes milliseconds or more per text, or may fail to answer.

    Files can be found by their words before the model has been called, and a search never waits long for it.
    """

    def embed_query(self, text: str) -> Floats:
        """The vector of a query, float32 ``[dimensions]``, within a short time.

        Raises:
            AutopoiesisError: The model cannot answer in time, or failed to a moment ago.
        """
        ...

    def close(self) -> None:
        """Abort calls in progress; they raise an error."""
        ...


class SlowEmbedder(Embedder, Slow, Protocol):
    """An embedder that is ``Slow``."""


BATCH_TEXTS, SLOW_TEXTS = 512, 128
"""Texts that a model, and a slow one, is given at once."""


class Computing(AutopoiesisError):
    """Another program computes the same vectors."""


EMBEDDING_FAULTS = (AutopoiesisError, OSError, ValueError, RuntimeError)
"""What a model may raise without failing the search by words."""


def as_slow(embedder: Embedder | None) -> SlowEmbedder | None:
    """The embedder if it is slow, else ``None``."""
    return embedder if embedder is not None and isinstance(embedder, Slow) else None


def query_vector(embedder: Embedder, query: str) -> Floats:
    """The vector of a query, float32 ``[dimensions]``. Raises the errors in ``EMBEDDING_FAULTS``."""
    slow = as_slow(embedder)
    if slow is not None:
        return slow.embed_query(query)
    found: Floats = embedder.embed([query])[0]
    return found


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


class LocalEmbedder:
    """The static vectors that ship with the product (``engine.meaning``): 192 dimensions, no network.

    Thread-safe; loads on first use, in about 50 ms. Reads the first 128 and the last 128 tokens of a text.
    """

    dimensions = 192

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loaded: TokenVectors | None = None

    @property
    def id(self) -> str:
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


class MiniLMEmbedder:
    """The transformer of the ``minilm`` extra, joined with the shipped vectors: 576 dimensions, no network.

    Thread-safe; loads on first use, in about two seconds. The transformer reads the beginning of a text, the
    shipped vectors read both ends.

    Raises:
        EmbeddingFailed: The extra is not installed.
    """

    TOKENS = 256
    """Tokens of a passage that the transformer reads; more than it was trained with do not help."""

    dimensions = 576

    def __init__(self) -> None:
        from engine.meaning.minilm import Transformer  # noqa: PLC0415 — an extra

        self._transformer = Transformer(self.TOKENS, setting="search.embedding", instead="local")
        self._shipped = LocalEmbedder()
        self._closed = threading.Event()

    @property
    def id(self) -> str:
        """See ``Embedder.id``."""
        from engine.meaning.minilm import SHARE  # noqa: PLC0415 — an extra

        return f"minilm-{self.TOKENS}-{SHARE}+{self._shipped.id}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """See ``Embedder.embed``.

        Raises:
            AutopoiesisError: The shipped vectors cannot be read, or the embedder was closed.
        """
        import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

        from engine.meaning.minilm import joined  # noqa: PLC0415 — an extra

        shipped = self._shipped.embed(texts)
        found = joined(self._transformer.encode(texts, self._closed.is_set), shipped)
        # The transformer returns a vector even for an empty text.
        found[[not text.strip() for text in texts]] = 0.0
        lengths = numpy.linalg.norm(found, axis=1, keepdims=True)
        rows: Floats = numpy.divide(found, lengths, out=numpy.zeros_like(found), where=lengths > 0)
        return rows

    def embed_query(self, text: str) -> Floats:
        """See ``Slow.embed_query``; waits for loading, and for a batch of texts that is being encoded."""
        found: Floats = self.embed([text])[0]
        return found

    def close(self) -> None:
        """See ``Slow.close``."""
        self._closed.set()
