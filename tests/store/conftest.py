from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository


def _empty(above: Path) -> Workspace:
    root = above / "workspace"
    root.mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    return Workspace.open(root)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return _empty(tmp_path)


@pytest.fixture
def files(workspace: Workspace) -> Files:
    return Files(workspace)


@pytest.fixture
def git_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate home without the machine's Git configuration, with an identity in the global one."""
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


@pytest.fixture(scope="session")
def _first_commit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = _empty(tmp_path_factory.mktemp("first"))
    repository, files = Repository(workspace), Files(workspace)
    files.replace(".gitignore", b"scratch/\nmemory.db*\n*.key\n")
    files.replace("knowledge/facts.md", b"# Facts\n")
    with pytest.MonkeyPatch.context() as patch:
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Ada")
            patch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
        repository.init()
        assert repository.commit(["memory-config.yaml", ".gitignore", "knowledge/facts.md"], "memory: first")
    return workspace.root


@pytest.fixture
def repository(workspace: Workspace, git_home: Path, _first_commit: Path) -> Repository:
    """A repository with one commit, containing the configuration and a fact."""
    shutil.copytree(_first_commit, workspace.root, dirs_exist_ok=True)
    return Repository(workspace)
