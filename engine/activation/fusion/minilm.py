"""The transformer of the ``minilm`` extra, joined with the shipped vectors: better, but takes two seconds to
load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.meaning.minilm import DIMENSIONS, SHARE, Transformer, joined
from engine.meaning.vectors import TokenVectors

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

_TOKENS = 64


class JoinedVectors:
    """Vectors whose cosine is the weighted mean of the transformer's and the shipped vectors' cosines.

    The transformer is loaded with the first text. Thread-safe.

    Raises:
        AutopoiesisError: The extra is not installed.
    """

    def __init__(self, shipped: TokenVectors | None = None) -> None:
        self._shipped = shipped or TokenVectors()
        self._transformer = Transformer(_TOKENS, setting="watchers.embedding", instead="shipped")
        self.version = f"minilm-{SHARE}+{self._shipped.version}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return DIMENSIONS + self._shipped.dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        """float32 ``[len(texts), dimensions]``, each row of length 1 if both know the text."""
        return joined(self._transformer.encode(texts), self._shipped.embed(texts))
