"""A fake embedding, and examples of small topics."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy

from engine.activation.scorer.words import words_of
from engine.meaning.vectors import TokenVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.scorer.words import Floats

REFUND = ("how do i get my money back", "i want a refund", "give me my money back for the order")
DEPLOY = ("how do i deploy the service", "deploy the new version to production", "roll out a release")
HOLIDAY = ("how many holidays do i have left", "i want to take july off", "request some holidays")


class FakeVectors(TokenVectors):
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
