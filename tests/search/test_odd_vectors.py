"""If a query vector cannot be compared with the text vectors, search uses words alone and says why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pytest

from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import BagOfWords

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

pytestmark = pytest.mark.both


class Odd(BagOfWords):
    """A model that returns ``odd`` for a query, if set."""

    odd: Floats | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        return super().embed(texts) if self.odd is None else self.odd


@pytest.mark.parametrize(
    ("odd", "problem"),
    [
        (
            numpy.ones((1, 12), dtype=numpy.float32),
            "returned 12 numbers for the query, but 512 for each text",
        ),
        (numpy.ones((1, 2, 512), dtype=numpy.float32), "returned 2 × 512 numbers for the query"),
        (numpy.ones((0, 512), dtype=numpy.float32), "the embedding model failed"),
        (numpy.ones(1, dtype=numpy.float32), "returned no list of numbers for the query"),
        (numpy.full((1, 512), numpy.nan, dtype=numpy.float32), "contains invalid numbers"),
        (numpy.full((1, 512), numpy.inf, dtype=numpy.float32), "contains invalid numbers"),
    ],
)
def test_an_incomparable_query_vector_is_reported_and_words_are_searched(
    odd: Floats, problem: str, filled: Workspace, open_index: Open
) -> None:
    embedder = Odd()
    index = open_index(filled, embedder)
    index.refresh()
    by_words = index.search("rye bread", use_vectors=False)
    assert by_words and index.without_vectors == ""
    embedder.odd = odd
    found = index.search("rye bread")
    assert [(one.path, one.start_line, one.vector_rank) for one in found] == [
        (one.path, one.start_line, None) for one in by_words
    ]
    assert {one.source for one in found} == {"index"}, "the fallback was used although the index is sound"
    assert problem in index.without_vectors and index.status().without_vectors == index.without_vectors
    embedder.odd = None
    assert index.search("rye bread")[0].vector_rank == 1
    assert index.without_vectors == ""
