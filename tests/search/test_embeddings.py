"""The local embedding model: ready without a network, calm about odd texts, loaded only when asked."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pytest

from engine.errors import IndexFailed
from engine.search.embeddings import LocalEmbedder

if TYPE_CHECKING:
    from engine.search.embeddings import Floats


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    found, why = local_embedder()
    assert found is not None, why
    return found


def test_like_texts_are_near(local: LocalEmbedder) -> None:
    dog, puppy, tax = local.embed(["The dog ran home", "A puppy was running to the house", "Tax law reform"])
    assert dog @ puppy > dog @ tax + 0.2


def test_vectors_have_length_one(local: LocalEmbedder) -> None:
    vectors = local.embed(["one", "two words", "ünïcödé 日本語"])
    assert vectors.shape == (3, local.dimensions)
    assert vectors.dtype == numpy.float32
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_texts_without_tokens_are_zeros(local: LocalEmbedder) -> None:
    vectors = local.embed(["", "word", ""])
    assert not numpy.isnan(vectors).any()
    assert not vectors[0].any()
    assert vectors[1].any()
    assert local.embed([]).shape == (0, local.dimensions)


def test_odd_texts_are_embedded(local: LocalEmbedder) -> None:
    vectors = local.embed(["\ud800 lone", "\0", "a" * 1_000_000, "🙂" * 5000])
    assert numpy.isfinite(vectors).all()


def test_a_batch_gives_what_single_texts_give(local: LocalEmbedder) -> None:
    texts = [f"text number {number} " + "more " * (number % 50) for number in range(600)]
    together = local.embed(texts)
    for place in (0, 255, 256, 599):
        assert numpy.allclose(together[place], local.embed([texts[place]])[0], atol=1e-6)


def test_many_threads_may_ask_at_once() -> None:
    fresh, _ = local_embedder()
    assert fresh is not None
    found: list[Floats] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.embed(["the same"]))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(numpy.array_equal(one, found[0]) for one in found)


def test_a_missing_package_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "wordllama" else real(name, package)

    monkeypatch.setattr("importlib.util.find_spec", without)
    assert local_embedder() == (None, "the package wordllama is not installed")


def test_a_broken_package_is_a_clear_error(local: LocalEmbedder, tmp_path: Path) -> None:
    with pytest.raises(IndexFailed, match="reinstall the package wordllama"):
        LocalEmbedder(tmp_path).embed(["x"])


def test_finding_the_model_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom engine.search.embeddings import local_embedder\nassert local_embedder()[0]\n"
        "print([m for m in ('numpy', 'tokenizers', 'safetensors', 'wordllama') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_models_own_package_is_never_imported() -> None:
    program = (
        "import sys\nfrom engine.search.embeddings import local_embedder\n"
        "embedder = local_embedder()[0]\nembedder.embed(['text'])\nprint('wordllama' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
