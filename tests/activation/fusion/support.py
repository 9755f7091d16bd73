"""A fake embedding, fake weights and small topics, so that tier 2 tests do not depend on training."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.fusion.combiner import FEATURES, Combiner
from engine.activation.fusion.fitted import TopicTexts
from engine.activation.fusion.words import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

REFUND = ("how do i get my money back", "i want a refund", "give me my money back for the order")
DEPLOY = ("how do i deploy the service", "deploy the new version to production", "roll out a release")
HOLIDAY = ("how many holidays do i have left", "i want to take july off", "request some holidays")


class FakeVectors:
    """A fake embedding: each word has a fixed direction, and a text is the sum of its words."""

    version = "made"
    dimensions = 24

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Floats:
        self.texts += texts
        rows = numpy.zeros((len(texts), self.dimensions), dtype=numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in words_of(text):
                row += _direction(word, self.dimensions)
            length = float(numpy.sqrt(row @ row))
            row /= length or 1.0
        return rows


@cache
def _direction(word: str, dimensions: int) -> NDArray[numpy.float64]:
    seed = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return numpy.random.RandomState(seed).normal(size=dimensions)


def linear_combiner(bias: float = -4.0, **weights: float) -> Combiner:
    """A combiner whose log-odds are a weighted sum of some features."""
    column = numpy.zeros((len(FEATURES), 1), dtype=numpy.float32)
    for name, weight in weights.items():
        column[FEATURES.index(name), 0] = weight
    nothing = numpy.zeros(len(FEATURES), dtype=numpy.float32)
    layer = (column, numpy.array([bias], dtype=numpy.float32))
    return Combiner("made", nothing, numpy.ones_like(nothing), (layer,), nothing)


def three_texts(**changes: Any) -> tuple[TopicTexts, ...]:
    """Three unrelated topics."""
    known = {"refund": REFUND, "deploy": DEPLOY, "holiday": HOLIDAY}
    return tuple(TopicTexts(name, name, "", examples) for name, examples in {**known, **changes}.items())
