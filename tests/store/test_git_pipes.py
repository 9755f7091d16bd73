"""A pipe where git expects a file: git would wait for a writer for ever."""

from __future__ import annotations

import os

import pytest

from engine.errors import RepositoryError
from engine.store import git
from engine.store.repository import Repository

NAMES = ["config", "index", "packed-refs", "info/exclude", "refs/heads/main", "HEAD"]


@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_in_the_git_folder_is_named_at_once(
    repository: Repository, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_TIMEOUT_S", 1.0)
    place = repository.workspace.root / ".git" / name
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with pytest.raises(RepositoryError, match="is not a file") as raised:
        repository.git.run("status")
    assert raised.value.where == str(place)
    assert repository.state().kind != "ok"
