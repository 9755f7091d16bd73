"""Texts as vectors: what an embedding model has to be, and the one that needs no network (spec 7.2)."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError, IndexFailed

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

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

_PACKAGE = "wordllama"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
_MAX_CHARACTERS = 8192
_BATCH_TEXTS = 256


class LocalEmbedder:
    """WordLlama's 256-dimensional static token vectors, averaged over a text.

    Loads on first use (about .3 s, 40 MB) and may be called from several threads. Of a text, the first 8,192
    characters count.

    Args:
        folder: Where the package's files lie.
    """

    id = "wordllama-l2-supercat-256"
    dimensions = 256

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._loaded: tuple[Tokenizer, Floats] | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """See ``Embedder.embed``.

        Raises:
            IndexFailed: The model's files cannot be read.
        """
        import numpy  # noqa: PLC0415 — the hook path searches by words and never needs it

        vectors = numpy.zeros((len(texts), self.dimensions), dtype=numpy.float32)
        if not texts:
            return vectors
        tokenizer, weights = self._model()
        for start in range(0, len(texts), _BATCH_TEXTS):
            batch = [_encodable(text[:_MAX_CHARACTERS]) for text in texts[start : start + _BATCH_TEXTS]]
            tokens = [found.ids for found in tokenizer.encode_batch_fast(batch, add_special_tokens=False)]
            _average(tokens, weights, vectors[start : start + len(batch)])
        return vectors

    def _model(self) -> tuple[Tokenizer, Floats]:
        with self._guard:
            if self._loaded is None:
                self._loaded = _load(self._folder)
            return self._loaded


def local_embedder() -> tuple[LocalEmbedder | None, str]:
    """The embedder that needs no network, unloaded.

    Returns:
        The embedder and ``""``; or ``None`` and the reason in one clause.
    """
    for package in ("numpy", "tokenizers", "safetensors"):
        if importlib.util.find_spec(package) is None:
            return None, f"the package {package} is not installed"
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        return None, f"the package {_PACKAGE} is not installed"
    folder = Path(found.submodule_search_locations[0])
    for name in (_WEIGHTS, _TOKENIZER):
        if not (folder / name).is_file():
            return None, f"the package {_PACKAGE} lacks its file {name}"
    return LocalEmbedder(folder), ""


def _load(folder: Path) -> tuple[Tokenizer, Floats]:
    import numpy  # noqa: PLC0415 — as above

    # Unset, the tokenizer writes a warning to the terminal whenever the process forks afterwards.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from safetensors import SafetensorError  # noqa: PLC0415 — as above
    from safetensors.numpy import load_file  # noqa: PLC0415 — as above
    from tokenizers import Tokenizer  # noqa: PLC0415 — as above

    try:
        weights = load_file(folder / _WEIGHTS)[_TENSOR]
        definition = (folder / _TOKENIZER).read_text("utf-8")
        if not definition.rstrip().endswith("}"):  # the tokenizer would report it by an error of no type
            raise ValueError(f"{_TOKENIZER} was cut off")
        tokenizer = Tokenizer.from_str(definition)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise IndexFailed(
            f"the local embedding model cannot be read ({error})",
            where=str(folder),
            cure=f"reinstall the package {_PACKAGE}",
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, numpy.ascontiguousarray(weights, dtype=numpy.float32)


def _average(tokens: list[list[int]], weights: Floats, into: Floats) -> None:
    """Write the unit-length mean of each token list into the rows of ``into``."""
    import numpy  # noqa: PLC0415 — as above

    for row, ids in enumerate(tokens):
        if ids:
            total = weights.take(ids, axis=0, mode="clip").sum(axis=0)
            length = float(numpy.linalg.norm(total))
            if length > 0:
                into[row] = total / length


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
