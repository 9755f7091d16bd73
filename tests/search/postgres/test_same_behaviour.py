"""What search does with memory.db, it does with a shared index: the same tests, with other fixtures."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from engine.store.paths import Workspace
from tests.search import (
    test_another_model,
    test_chunks,
    test_counts,
    test_dates,
    test_described,
    test_embeddings,
    test_following,
    test_logs,
    test_odd_vectors,
    test_passages,
    test_past_work,
    test_ranking,
    test_refresh,
    test_relevance,
    test_scripts,
    test_search,
    test_snippet,
    test_worth,
)
from tests.search.conftest import Open
from tests.search.postgres.servers import Postgres

MODULES = (
    *(test_another_model, test_chunks, test_counts, test_dates, test_described, test_embeddings),
    *(test_following, test_logs, test_odd_vectors, test_passages, test_past_work, test_ranking, test_refresh),
    *(test_relevance, test_scripts, test_search, test_snippet, test_worth),
)
OF_A_FILE = {
    "test_a_full_disk_is_reported_and_the_index_stays_intact",
    "test_an_altered_chunk_is_detected_as_damage",
    "test_the_search_path_imports_little",
    "test_unchanged_files_are_not_read",
    "test_values_of_the_wrong_type_are_detected_as_damage",
}
"""They look into memory.db."""
IN_THE_BACKGROUND = {
    "test_a_chunk_that_reuses_an_id_gets_its_own_vector",
    "test_a_read_only_index_computes_no_vectors",
    "test_a_refresh_waits_for_a_few_vectors",
    "test_old_vectors_are_kept_until_the_new_model_responds",
}
"""A shared index computes the vectors of a slow model while it is refreshed."""
NEED_NO_INDEX = {
    "test_a_query_is_never_parsed_as_an_expression",
    "test_a_query_without_a_word_finds_nothing",
    "test_an_unknown_category_is_rejected_by_name",
    "test_the_limit_is_clamped",
}
"""Of many cases; nothing of them reaches the index."""
OWN_FIXTURES = {"indexed", "many"}
"""Of modules: an index in memory.db, and what a slow model has to compute."""


BELOW = {"test_after_many_changes_the_answers_equal_those_of_a_fresh_index"}


def test_after_many_changes_the_answers_equal_those_of_a_fresh_memory_db(
    filled: Workspace, open_index: Open
) -> None:
    test_following.test_after_many_changes_the_answers_equal_those_of_a_fresh_index(0, filled, open_index)


def _tests() -> Iterator[tuple[str, object]]:
    left_out = OF_A_FILE | IN_THE_BACKGROUND | NEED_NO_INDEX | BELOW
    for module in MODULES:
        of = module.__name__.rpartition(".test_")[2]
        for name, test in vars(module).items():
            if name.startswith("test_") and name not in left_out:
                wanted = inspect.signature(test).parameters.keys()
                if "open_index" in wanted and not wanted & OWN_FIXTURES:
                    yield f"test_{of}_{name.removeprefix('test_')}", test


globals().update(_tests())


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> Iterator[str]:
    """The address of one database for all of these tests, each with a memory of its own."""
    with postgres.database("made") as name:
        yield postgres.url(name)
