from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace

Write = Callable[[str, str], Path]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    (root / "topics").mkdir(parents=True)
    (root / "memory-config.yaml").write_bytes(b"")
    return Workspace.open(root)


@pytest.fixture
def files(workspace: Workspace) -> Files:
    return Files(workspace)


@pytest.fixture
def write(workspace: Workspace) -> Write:
    """Return a function that writes a text file to the workspace."""

    def into(relative: str, text: str) -> Path:
        path = workspace.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return into
