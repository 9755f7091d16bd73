"""Fixtures: a small workspace, and indexes that are closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.search import fallback
from engine.search.embeddings import Embedder
from engine.search.index import SearchIndex
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.samples import FILES, put


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace."""
    root = tmp_path / "memory"
    root.mkdir()
    (root / "memory-config.yaml").write_text("")
    return Workspace.open(root)


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """A workspace with files of most kinds."""
    for path, content in FILES.items():
        put(workspace, path, content)
    return workspace


@pytest.fixture(autouse=True)
def unhurried_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a search without an index the time to find everything, however slow the machine is."""
    defaults = fallback.search.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "time_limit_s", 60.0)


Open = Callable[..., SearchIndex]


@pytest.fixture
def open_index() -> Iterator[Open]:
    """Opens indexes of workspaces, and closes them after the test."""
    opened: list[SearchIndex] = []

    def open_one(
        workspace: Workspace,
        embedder: Embedder | None = None,
        *,
        settings: SearchSettings | None = None,
        read_only: bool = False,
        lock_timeout_s: float = 60.0,
    ) -> SearchIndex:
        index = SearchIndex(
            workspace,
            Files(workspace),
            settings or SearchSettings(),
            embedder,
            read_only=read_only,
            lock_timeout_s=lock_timeout_s,
        )
        opened.append(index)
        return index

    yield open_one
    for index in opened:
        index.close()
