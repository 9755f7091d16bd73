"""An index seeded with a copy of another workspace's index answers for its own files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.search.embeddings import LocalEmbedder
from engine.search.seed import seed
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, put

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats


class Counting(LocalEmbedder):
    """Counts the texts it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Floats:
        self.texts += len(texts)
        return super().embed(texts)


@pytest.fixture
def past(filled: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the filled workspace with one file different and one missing."""
    root = tmp_path / "past"
    shutil.copytree(filled.root, root)
    first, second, *_ = FILES
    (root / first).unlink()
    put(Workspace.open(root), second, "# Elsewhere\n\nOf old times and heliotropes.\n")
    return Workspace.open(root)


def test_only_differing_chunks_are_embedded_and_results_equal_those_of_a_fresh_index(
    filled: Workspace, past: Workspace, open_index: Open, tmp_path: Path
) -> None:
    whole = Counting()
    open_index(filled, whole).refresh()
    embedder = Counting()
    seeded = open_index(past, embedder)
    seeded.seed(filled.database)
    report = seeded.refresh()
    assert (report.changed, report.removed, report.added) == (1, 1, 0)
    assert 0 < embedder.texts < whole.texts / 2

    shutil.copytree(past.root, tmp_path / "fresh", ignore=shutil.ignore_patterns("memory.db*"))
    fresh = open_index(Workspace.open(tmp_path / "fresh"), LocalEmbedder())
    fresh.refresh()
    for query in ("heliotropes", "migration", "cache", "who reviews", "February"):
        assert seeded.search(query) == fresh.search(query)
    assert seeded.verify(repair=False).problems == ()


@pytest.mark.parametrize("damage", ["missing", "cut", "none of ours", "unfinished"])
def test_a_failed_copy_leaves_no_index(
    damage: str, filled: Workspace, open_index: Open, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    if damage != "missing":
        index = open_index(filled, LocalEmbedder())
        index.refresh()
        index.close()
        data = filled.database.read_bytes()
        other.write_bytes({"cut": data[: len(data) // 3], "none of ours": b"x" * 5_000}.get(damage, data))
    if damage == "unfinished":
        import apsw

        connection = apsw.Connection(str(other))
        connection.execute("UPDATE meta SET value = '' WHERE key = 'complete'")
        connection.close()
    made = tmp_path / "made" / "memory.db"
    assert not seed(made, other)
    assert not made.exists()


def test_an_existing_index_is_kept(filled: Workspace, open_index: Open, tmp_path: Path) -> None:
    index = open_index(filled, LocalEmbedder())
    index.refresh()
    before = filled.database.read_bytes()
    index.seed(tmp_path / "other.db")
    assert filled.database.read_bytes() == before
