"""A nearly empty workspace for tests that send messages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.workspace.initialise import initialise
from tests.conftest import GIT_IDENTITY


@pytest.fixture(scope="session")
def _pristine_plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain") / "memory"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_IDENTITY.items():
            patch.setenv(name, value)
        initialise(root)
    with Engine.open(root) as engine:
        engine.refresh_index()
        engine.trace("hello")
    return root


@pytest.fixture
def plain(_pristine_plain: Path, tmp_path: Path) -> Path:
    """A freshly initialised, indexed workspace; sending a message is far faster than in the sample."""
    return shutil.copytree(_pristine_plain, tmp_path / "plain", symlinks=True)
