"""The transformer of the ``minilm`` extra, which is faked."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.errors import EmbeddingFailed
from engine.meaning.minilm import READ, Transformer, is_installed, joined
from tests.meaning.stand_in import stand_in


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The fake package."""
    with stand_in(tmp_path, monkeypatch) as found:
        yield found


def transformer(tokens: int = 64) -> Transformer:
    return Transformer(tokens, setting="some.setting", instead="other")


def test_its_input_is_bounded_and_can_be_encoded(module: Any) -> None:
    assert is_installed()
    rows = transformer().encode(["x" * 200_000, "lone \ud800", ""])
    assert [len(text) for text in module.read] == [READ, 6, 0]
    assert rows.shape == (3, 384) and rows.dtype == numpy.float32
    assert transformer().encode([]).shape == (0, 384)


def test_two_users_share_one_model_and_keep_their_own_limits(module: Any) -> None:
    short, long = transformer(64), transformer(256)
    for each in (short, long, short):
        each.encode(["text"])
    assert module.limits == [64, 256, 64]
    assert len(module.made) == 1


def test_many_texts_are_embedded_in_groups_and_in_order(module: Any) -> None:
    rows = transformer().encode(["x" * number for number in range(40)])
    assert module.groups == [16, 16, 8]
    assert [int(row.argmax()) for row in rows] == list(range(40))


def test_it_can_be_stopped_between_groups(module: Any) -> None:
    with pytest.raises(EmbeddingFailed, match="stopped"):
        transformer().encode(["text"] * 40, lambda: len(module.groups) == 1)
    assert module.groups == [16]


def test_joined_vectors_have_length_one_if_both_models_know_the_text() -> None:
    rows = joined(numpy.eye(2, 384, dtype=numpy.float32), numpy.eye(2, 8, dtype=numpy.float32))
    assert rows.shape == (2, 392)
    assert numpy.allclose(numpy.linalg.norm(rows, axis=1), 1)


def test_without_the_extra_the_error_names_the_setting_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find_nothing(name: str, package: Sequence[str] | None = None) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    assert not is_installed()
    with pytest.raises(EmbeddingFailed) as raised:
        transformer()
    assert str(raised.value) == (
        "memory-config.yaml: some.setting is minilm, but the transformer is not installed;"
        " pip install 'autopoiesis[minilm]', or set some.setting: other"
    )
