from __future__ import annotations

from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    return Workspace.open(root)


@pytest.fixture
def files(workspace: Workspace) -> Files:
    return Files(workspace)


@pytest.fixture
def git_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no configuration of the machine, and an identity in the global one."""
    home = tmp_path / "home"
    home.mkdir()
    config = home / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def repository(workspace: Workspace, git_home: Path) -> Repository:
    """A repository with one commit, of the configuration and a fact."""
    repository = Repository(workspace)
    repository.init()
    files = Files(workspace)
    files.replace(".gitignore", b"scratch/\nmemory.db*\n*.key\n")
    files.replace("knowledge/facts.md", b"# Facts\n")
    assert repository.commit(["memory-config.yaml", ".gitignore", "knowledge/facts.md"], "memory: first")
    return repository
