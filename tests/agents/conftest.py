"""An engine with hooks for agents; hook switches are isolated per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.engine import Engine
from tests.agents.agent import Agent
from tests.conftest import made_or_copied


@pytest.fixture(autouse=True)
def isolated_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.agents.switches.settings_folder", lambda: tmp_path / "settings")


@pytest.fixture
def sample(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as a session's start leaves it: its own sessions have recaps, and their rules are known."""
    made_or_copied(tmp_path_factory, "begun", sample, begin)
    return sample


def begin(root: Path) -> None:
    with Engine.open(root) as engine:
        engine.rules.learn()
        engine.recaps.catch_up("")
        engine.catch_up_index()


@pytest.fixture
def engine(sample: Path) -> Iterator[Engine]:
    with Engine.open(sample) as opened:
        yield opened


@pytest.fixture
def hooks(engine: Engine) -> Hooks:
    return Hooks(engine)


@pytest.fixture
def agent(hooks: Hooks, tmp_path: Path) -> Agent:
    return Agent(hooks.answer, tmp_path / "claude")
