"""Where hooks are off, nothing is injected or captured."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.agents.switches import Switches
from engine.engine import Engine
from engine.errors import ConfigError
from tests.agents.agent import Agent
from tests.agents.test_hooks import REVIEW, notes
from tests.transcripts.logs import SESSION


def test_hooks_can_be_switched_off_globally_per_project_or_per_session(
    engine: Engine, hooks: Hooks, agent: Agent
) -> None:
    switches = Switches()
    cases = {
        "off everywhere": ("everywhere", ""),
        "off in this project": ("projects", "/home/robin"),
        "off in this session": ("sessions", SESSION),
    }
    for why, (kind, name) in cases.items():
        assert switches.turn(kind, name, on=False) and not switches.turn(kind, name, on=False)
        assert agent.start() == "" and agent.prompt(REVIEW) == ""
        assert notes(hooks)[-1] == ("stop", why)
        assert switches.turn(kind, name, on=True)
    switches.turn("projects", "/home/rob", on=False)
    assert agent.start() != "", "another folder's name may have the same prefix"
    assert "off" not in {said for _, said in notes(hooks)[-1:]}


def test_a_project_is_off_by_any_name(hooks: Hooks, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    Switches().turn("projects", str(tmp_path / "shop"), on=False)
    for cwd in (tmp_path / "shop", tmp_path / "link/shop", tmp_path / "shop/../shop/api", "/a\0b"):
        agent = Agent(hooks.answer, tmp_path / "claude", cwd=str(cwd))
        assert (agent.start() == "") is ("shop" in str(cwd))


def test_hooks_stay_off_while_it_is_unknown_where_they_are_off(
    hooks: Hooks, agent: Agent, tmp_path: Path
) -> None:
    switches, path = Switches(), tmp_path / "settings" / "hooks-off.json"
    switches.turn("projects", "/home/robin", on=False)
    saved = path.read_bytes()
    for damaged in (saved[:20], b"[]"):
        path.write_bytes(damaged)
        assert agent.start() == ""
        with pytest.raises(ConfigError, match="cannot be read"):
            switches.turn("everywhere", "", on=True)
        assert path.read_bytes() == damaged
