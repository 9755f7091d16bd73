"""A shared index names the same candidates as memory.db: the same tests, with another engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.search.engines import Engine
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import BagOfWords
from tests.search.test_sqlite import DIMENSIONS
from tests.search.test_sqlite import many as many
from tests.search.test_sqlite import test_candidates_are_in_scope as test_candidates_are_in_scope
from tests.search.test_sqlite import test_the_rarest_words_decide as test_the_rarest_words_decide


@pytest.fixture
def opened(many: Workspace, open_index: Open) -> Iterator[Engine]:
    """The engine of an index of ``many``."""
    index = open_index(many, BagOfWords(DIMENSIONS))
    index.refresh()
    with index._storage.read() as state:
        yield state.engine(DIMENSIONS)
