"""The local embedding model: works offline, accepts any text, and is loaded on first use."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy
import pytest

from engine.errors import AutopoiesisError
from engine.meaning import vectors
from engine.meaning.vectors import TOKENS_READ, TokenVectors
from engine.search.embeddings import LocalEmbedder

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    return LocalEmbedder()


def test_similar_texts_have_similar_vectors(local: LocalEmbedder) -> None:
    dog, puppy, tax = local.embed(["The dog ran home", "A puppy was running to the house", "Tax law reform"])
    assert dog @ puppy > dog @ tax + 0.2


def test_vectors_have_length_one(local: LocalEmbedder) -> None:
    vectors = local.embed(["one", "two words", "ünïcödé 日本語"])
    assert vectors.shape == (3, local.dimensions)
    assert vectors.dtype == numpy.float32
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_texts_without_tokens_have_zero_vectors(local: LocalEmbedder) -> None:
    vectors = local.embed(["", "word", ""])
    assert not numpy.isnan(vectors).any()
    assert not vectors[0].any()
    assert vectors[1].any()
    assert local.embed([]).shape == (0, local.dimensions)


def test_odd_texts_are_embedded(local: LocalEmbedder) -> None:
    vectors = local.embed(["\ud800 lone", "\0", "a" * 1_000_000, "🙂" * 5000])
    assert numpy.isfinite(vectors).all()


def test_a_batch_gives_the_same_vectors_as_single_texts(local: LocalEmbedder) -> None:
    texts = [f"text number {number} " + "more " * (number % 50) for number in range(600)]
    together = local.embed(texts)
    for place in (0, 255, 256, 599):
        assert numpy.allclose(together[place], local.embed([texts[place]])[0], atol=1e-6)


def test_only_both_ends_of_a_long_text_count(local: LocalEmbedder) -> None:
    ends = "heron river " * (TOKENS_READ // 4)
    middle = "tax law reform " * 5000
    assert numpy.array_equal(*local.embed([f"{ends}{middle}{ends}", f"{ends}other words {ends}"])[:2])


def test_many_threads_may_embed_at_once() -> None:
    fresh = LocalEmbedder()
    found: list[Floats] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.embed(["the same"]))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(numpy.array_equal(one, found[0]) for one in found)


def test_the_id_contains_the_version_of_the_vectors(local: LocalEmbedder) -> None:
    assert local.id == f"pieces-{TokenVectors().version}" == LocalEmbedder().id
    assert local.dimensions == TokenVectors().dimensions == local.embed(["x"]).shape[1]


def test_unreadable_vectors_raise_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "TokenVectors", lambda: TokenVectors(tmp_path))
    with pytest.raises(AutopoiesisError, match="reinstall autopoiesis"):
        LocalEmbedder().embed(["x"])


def test_creating_the_embedder_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom engine.search.embeddings import LocalEmbedder\nembedder = LocalEmbedder()\n"
        "print([m for m in ('numpy', 'tokenizers', 'safetensors', 'wordllama') if m in sys.modules])\n"
        "embedder.embed(['text'])\n"
        "print([m for m in ('tokenizers', 'safetensors', 'wordllama') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "[]", ""]
