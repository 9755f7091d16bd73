from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.sharing.git_crypt import install_stand_in
from tests.sync.conftest import _identity as _identity
from tests.sync.conftest import _pristine as _pristine
from tests.sync.conftest import _start as _start
from tests.sync.conftest import machines as machines
from tests.sync.machines import git


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """Somebody else's repository with an entry, a page, and a symlink to a file outside of it."""
    root = tmp_path / "team"
    root.mkdir()
    git(root, "init", "-q", "--template=", "--initial-branch=trunk")
    (root / "KNOWLEDGE.md").write_text(
        "---\nname: team\ndescription: How they release.\n---\nSee [[nowhere]].\n"
    )
    (root / "guides").mkdir()
    (root / "guides/release.md").write_text("# Release\n\nThe zanzibar pipeline runs on Tuesdays.\n")
    (root / "guides/hosts.md").symlink_to("/etc/hosts")
    return committed(root)


def committed(root: Path, message: str = "theirs") -> Path:
    """Commits everything in a folder and returns the folder."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)
    return root


@pytest.fixture
def git_crypt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with git-crypt on the PATH: the real program if installed, else a stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    real = shutil.which("git-crypt")
    if real:
        (folder / "git-crypt").symlink_to(real)
    else:
        install_stand_in(folder / "git-crypt")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder
