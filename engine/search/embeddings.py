"""Texts as vectors: what an embedding model has to be, and the one that needs no network (spec 7.2)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from engine.meaning.vectors import TokenVectors

    Floats = NDArray[numpy.float32]


class Embedder(Protocol):
    """Gives texts a place in a space where nearness means likeness."""

    @property
    def id(self) -> str:
        """Names model and version; vectors of different ids are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per text, float32 ``[len(texts), dimensions]``, of length 1.

        A text the model can say nothing about has a row of zeros.

        Raises:
            AutopoiesisError: The model cannot answer now.
        """
        ...


EMBEDDING_FAULTS = (AutopoiesisError, OSError, ValueError, RuntimeError)
"""What a model may raise without taking the search by words with it."""


class LocalEmbedder:
    """The static vectors that ship with the product (``engine.meaning``): 192 dimensions, no network.

    Loads on first use, in some 50 ms, and may be called from several threads. Of a text, the first 128 tokens
    and the last 128 count.
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
        from engine.meaning.vectors import TokenVectors  # noqa: PLC0415 — brings numpy

        with self._guard:
            if self._loaded is None:
                self._loaded = TokenVectors()
            return self._loaded
