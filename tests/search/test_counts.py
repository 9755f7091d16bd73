"""Counts of files and chunks by category, taken from the index alone."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from engine.search.results import CATEGORIES
from engine.search.sources import MAX_BYTES, all_sources
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import put

pytestmark = pytest.mark.both


def test_files_and_chunks_are_counted_by_category(filled: Workspace, open_index: Open) -> None:
    put(filled, "knowledge/journal/2026-03-01.md", "# One\n\na\n\n# Two\n\nb\n")
    put(filled, "knowledge/reference/huge.md", b"x" * (MAX_BYTES + 1))
    index = open_index(filled)
    index.refresh()
    status = index.status()
    on_disk = Counter(source.category for source in all_sources(filled))
    assert {each.category: each.files + each.skipped for each in status.categories} == dict(on_disk)
    names = [each.category for each in status.categories]
    assert names == [name for name in CATEGORIES if name in on_disk]
    by_name = {each.category: each for each in status.categories}
    assert by_name["reference"].skipped == 1
    assert by_name["journal"].chunks >= 2
    assert sum(each.files for each in status.categories) == status.files
    assert sum(each.chunks for each in status.categories) == status.chunks == index.refresh().chunks


def test_the_counts_follow_added_and_removed_files(workspace: Workspace, open_index: Open) -> None:
    index = open_index(workspace)
    rng = random.Random(3)
    places = {"knowledge/journal/2026-01-{:02}.md": "journal", "topics/topic-{:02}.md": "topic"}
    index.refresh()
    assert index.status().categories == ()
    for _ in range(12):
        place = rng.choice(sorted(places)).format(rng.randrange(1, 9))
        if rng.random() < 0.3:
            (workspace.root / place).unlink(missing_ok=True)
        else:
            sections = rng.randrange(1, 4)
            put(workspace, place, "".join(f"# Part {number}\n\ntext\n\n" for number in range(sections)))
        index.refresh()
        texts = {source.path: (workspace.root / source.path).read_text() for source in all_sources(workspace)}
        wanted = Counter(source.category for source in all_sources(workspace))
        chunks = Counter[str]()
        for source in all_sources(workspace):
            chunks[source.category] += texts[source.path].count("# Part")
        assert {each.category: each.files for each in index.status().categories} == dict(wanted)
        assert {each.category: each.chunks for each in index.status().categories} == dict(chunks)


def test_a_missing_index_has_no_counts(filled: Workspace, open_index: Open) -> None:
    status = open_index(filled).status()
    assert (status.state, status.categories) == ("missing", ())
