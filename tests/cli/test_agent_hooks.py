"""``hook``: the log, turning hooks off and on, and running one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.engine import Engine
from tests.agents.agent import Agent
from tests.cli.conftest import Command
from tests.transcripts.logs import SESSION


def test_the_log_shows_what_was_injected_or_why_nothing_was(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    assert apo("-C", sample, "hook", "log").out == (
        "no hook has run yet; set hooks up with: autopoiesis install\n"
    )
    with Engine.open(sample) as engine:
        hooks = Hooks(engine)
        agent = Agent(hooks.answer, tmp_path / "claude")
        agent.prompt("Can you review the PR that just came in?")
        agent.prompt("ok, do it")
        hooks.answer("claude-code", b"{")
    log = apo("-C", sample, "hook", "log")
    heads, failed, stop, nothing, *_, injected = log.out.splitlines()
    assert heads.split() == ["when", "agent", "event", "project", "tokens", "took", "what"]
    assert "failed: Claude Code sent 1 bytes that are not JSON" in failed
    assert "grown: raw/conversations/2026/02/16/" in stop and "nothing relevant" in nothing
    assert "topic:github-pr-review" in injected and " tidemark " in injected
    found = apo("-C", sample, "hook", "log", "--session", SESSION, "--limit", "1", "--json").json
    assert [run["moment"] for run in found] == ["stop"]
    assert len(apo("-C", sample, "hook", "log", "--failed", "--json").json) == 1


def test_hooks_are_turned_off_and_on(apo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.agents.switches.settings_folder", lambda: tmp_path / "settings")
    assert apo("hook", "off", "--project", tmp_path).out == f"off in project {tmp_path}\n"
    assert apo("hook", "off", "--session", SESSION).out.endswith(f"off in session {SESSION}\n")
    assert apo("hook", "off").out.startswith("off everywhere\n")
    assert apo("hook", "on").out == f"off in project {tmp_path}\noff in session {SESSION}\n"
    apo("hook", "on", "--session", SESSION)
    assert apo("hook", "on", "--project", tmp_path).out == "on everywhere\n"


def test_the_hook_command_injects_like_the_hook_program(sample: Path) -> None:
    with Engine.open(sample) as engine:
        engine.configuration.change("hooks.linger_minutes", "0")
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "Can you review the PR that just came in?"}
    # With time enough for a slow machine.
    program = "from engine.agents import wire; wire.SECONDS = 100; from tui.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "-C", sample, "hook", "claude-code"],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=True,
    )
    injected = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "topic:github-pr-review" in injected and done.stderr == b""
