"""``autopoiesis install``: shows, asks, writes, lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.engine import Engine
from tests.cli.conftest import Command
from tests.transcripts.logs import SESSION, ClaudeCode, write


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with Claude Code in it, and the programs beside it."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/settings.json").write_text('{\n  "model": "opus" // mine\n}\n')
    programs.mkdir()
    for name in ("autopoiesis", "autopoiesis-hook"):
        (programs / name).touch(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr("engine.agents.install.sysconfig.get_path", lambda _: str(programs))
    return home


def test_the_change_is_shown_and_made_with_yes(apo: Command, sample: Path, home: Path) -> None:
    settings = home / ".claude/settings.json"
    before = settings.read_bytes()
    asked = apo("-C", sample, "install", "claude-code")
    assert (
        asked.code == 1
        and '+    "SessionStart": [' in asked.out
        and "nothing was written; to do it, pass --yes" in asked.out
    )
    only = apo("-C", sample, "install", "claude-code", "--dry-run")
    assert only.code == 0 and only.out + "nothing was written; to do it, pass --yes\n" == asked.out
    assert settings.read_bytes() == before
    done = apo("-C", sample, "install", "claude-code", "--yes")
    assert done.code == 0, done.err
    assert f"backup: {settings}.before-autopoiesis" in done.out
    assert f"autopoiesis-hook claude-code -C {sample}" in settings.read_text()
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["autopoiesis"]
    assert server["args"] == ["mcp", "-C", str(sample)]
    assert "already installed" in apo("-C", sample, "install", "claude-code", "--yes").out
    rows = {row["agent"]: row for row in apo("-C", sample, "install", "--json").json}
    assert rows["claude-code"]["is_here"] and rows["claude-code"]["hooks"]["state"] == "installed"
    assert not rows["codex"]["is_here"] and rows["opencode"]["hooks"]["state"] == "no"
    assert f"✓ Claude Code is connected through {settings}" in apo("-C", sample, "doctor").out
    (home.parent / "bin/autopoiesis-hook").unlink()
    gone = f"! Claude Code: {settings}: {home.parent}/bin/autopoiesis-hook is gone"
    assert gone in apo("-C", sample, "doctor").out
    out = apo("install", "claude-code", "--uninstall", "--yes").out
    assert settings.read_bytes() == before and "which is as it was before" in out and "deleted " in out
    assert not (home / ".claude.json").exists() and list(settings.parent.iterdir()) == [settings]


def test_hooks_that_codex_was_not_told_to_trust_are_named(apo: Command, sample: Path, home: Path) -> None:
    said = f"{home}/.codex/hooks.json: Codex runs none of these hooks until you have trusted them"
    hint = "start codex, which asks, or run /hooks in it"
    apo("-C", sample, "install", "claude-code", "--yes")
    assert apo("-C", sample, "hook", "log").out == (
        "no hook has run yet; restart the agent to load new hooks\n"
    )
    apo("-C", sample, "install", "codex", "--yes")
    assert f"! Codex: {said}\n    {hint}\n" in apo("-C", sample, "doctor").out
    assert apo("-C", sample, "hook", "log").out.endswith(f"\nCodex: {said}: {hint}\n")
    listed = apo("-C", sample, "install").out
    assert "not trusted yet" in listed and listed.endswith(f"{said}: {hint}\n")
    assert apo("-C", sample, "install", "codex", "--yes").out.endswith(f"already installed\n{said}: {hint}\n")
    with Engine.open(sample) as engine:
        Hooks(engine).answer("claude-code", b"{")
    log = apo("-C", sample, "hook", "log").out
    assert "failed: Claude Code sent" in log and log.endswith(f"\nCodex: {said}: {hint}\n")


def test_what_cannot_be_installed_is_said(apo: Command, sample: Path, home: Path) -> None:
    assert "run: autopoiesis init" in apo("install", "claude-code", "--yes").err
    assert apo("install", "emacs").code == 2
    (home / ".claude/settings.json").write_text('{"model": ')
    failed = apo("-C", sample, "install", "claude-code", "--yes")
    assert failed.code == 1 and "settings.json:1: expected a value" in failed.err
    assert not (home / ".claude.json").exists()
    assert "expected a value" in apo("-C", sample, "install").out


def test_a_project_has_settings_of_its_own(apo: Command, sample: Path, home: Path) -> None:
    project = home / "work"
    project.mkdir()
    out = apo("-C", sample, "install", "claude-code", "--project", project, "--no-mcp", "--yes").out
    assert "do not commit them to the project" in out
    assert [path.name for path in project.rglob("*") if path.is_file()] == ["settings.local.json"]
    assert "not installed" in apo("-C", sample, "install").out.splitlines()[1]
    assert "not installed" not in apo("-C", sample, "install", "--project", project).out.splitlines()[1][:40]


def test_an_import_says_how_the_agent_gets_its_memory(apo: Command, sample: Path, home: Path) -> None:
    log, spoken = home / f".claude/projects/-home-robin-shop/{SESSION}.jsonl", ClaudeCode()
    write(log, spoken.user("fix it"), spoken.says("Fixed."))
    hint = "to give Claude Code this memory: autopoiesis install claude-code"
    assert hint in apo("-C", sample, "import", "claude-code", "--yes").out.splitlines()
    apo("-C", sample, "install", "claude-code", "--yes")
    write(log, spoken.user("fix it"), spoken.says("Fixed."), spoken.user("And that?"), spoken.says("Too."))
    done = apo("-C", sample, "import", "claude-code", "--yes").out
    assert "new turn" in done and hint not in done
