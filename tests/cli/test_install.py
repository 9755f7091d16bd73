"""``install``: shows the change, asks, writes, and lists the agents."""

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
    """A home directory with Claude Code settings, and our programs on the PATH."""
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


def test_the_change_is_shown_and_made_only_with_yes(apo: Command, sample: Path, home: Path) -> None:
    settings = home / ".claude/settings.json"
    before = settings.read_bytes()
    shown = apo("-C", sample, "install", "claude-code")
    assert (
        shown.code == 1
        and '+    "SessionStart": [' in shown.out
        and "nothing was written; pass --yes to do it" in shown.out
    )
    dry = apo("-C", sample, "install", "claude-code", "--dry-run")
    assert dry.code == 0 and dry.out + "nothing was written; pass --yes to do it\n" == shown.out
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


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked_once_about_notes_before_a_compaction(
    apo: Command, sample: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    asked: list[str] = []

    def confirm(question: str, default: bool) -> bool:
        asked.append(question)
        return answer if "flush.provider" in question else True

    monkeypatch.setattr("tui.cli.install._confirm", lambda as_json: not as_json)
    monkeypatch.setattr("click.confirm", confirm)
    assert apo("-C", sample, "install", "claude-code").code == 0
    (question,) = asked
    assert "\n" not in question and "compacts" in question
    config = (sample / "memory-config.yaml").read_text()
    assert ("provider: claude-code" in config) == answer
    apo("install", "claude-code", "--uninstall", "--yes")
    apo("-C", sample, "install", "claude-code", "--yes")
    assert len(asked) == 1, "--yes asks nothing and switches nothing on"
    assert (sample / "memory-config.yaml").read_text() == config


def test_hooks_that_codex_does_not_trust_yet_are_reported(apo: Command, sample: Path, home: Path) -> None:
    message = f"{home}/.codex/hooks.json: Codex runs none of these hooks until you have trusted them"
    hint = "start codex, which asks, or run /hooks in it"
    apo("-C", sample, "install", "claude-code", "--yes")
    assert apo("-C", sample, "hook", "log").out == (
        "no hook has run yet; restart the agent to load new hooks\n"
    )
    apo("-C", sample, "install", "codex", "--yes")
    assert f"! Codex: {message}\n    {hint}\n" in apo("-C", sample, "doctor").out
    assert apo("-C", sample, "hook", "log").out.endswith(f"\nCodex: {message}: {hint}\n")
    listed = apo("-C", sample, "install").out
    assert "not trusted yet" in listed and listed.endswith(f"{message}: {hint}\n")
    assert apo("-C", sample, "install", "codex", "--yes").out.endswith(
        f"already installed\n{message}: {hint}\n"
    )
    with Engine.open(sample) as engine:
        Hooks(engine).answer("claude-code", b"{")
    log = apo("-C", sample, "hook", "log").out
    assert "failed: Claude Code sent" in log and log.endswith(f"\nCodex: {message}: {hint}\n")


def test_installation_errors_are_reported(apo: Command, sample: Path, home: Path) -> None:
    assert "run: autopoiesis init" in apo("install", "claude-code", "--yes").err
    assert apo("install", "emacs").code == 2
    (home / ".claude/settings.json").write_text('{"model": ')
    failed = apo("-C", sample, "install", "claude-code", "--yes")
    assert failed.code == 1 and "settings.json:1: expected a value" in failed.err
    assert not (home / ".claude.json").exists()
    assert "expected a value" in apo("-C", sample, "install").out


def test_hooks_can_be_installed_for_one_project(apo: Command, sample: Path, home: Path) -> None:
    project = home / "work"
    project.mkdir()
    out = apo("-C", sample, "install", "claude-code", "--project", project, "--no-mcp", "--yes").out
    assert "do not commit them to the project" in out
    assert [path.name for path in project.rglob("*") if path.is_file()] == ["settings.local.json"]
    assert "not installed" in apo("-C", sample, "install").out.splitlines()[1]
    assert "not installed" not in apo("-C", sample, "install", "--project", project).out.splitlines()[1][:40]


def test_import_suggests_installing_the_hooks(apo: Command, sample: Path, home: Path) -> None:
    log, agent = home / f".claude/projects/-home-robin-shop/{SESSION}.jsonl", ClaudeCode()
    write(log, agent.user("fix it"), agent.says("Fixed."))
    hint = "to give Claude Code this memory: autopoiesis install claude-code"
    assert hint in apo("-C", sample, "import", "claude-code", "--yes").out.splitlines()
    apo("-C", sample, "install", "claude-code", "--yes")
    write(log, agent.user("fix it"), agent.says("Fixed."), agent.user("And that?"), agent.says("Too."))
    done = apo("-C", sample, "import", "claude-code", "--yes").out
    assert "new turn" in done and hint not in done


@pytest.mark.parametrize("below", ["", "src/deep"])
def test_doctor_sees_that_the_project_here_turns_hooks_off(
    apo: Command, sample: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    apo("-C", sample, "install", "claude-code", "--yes")
    project = tmp_path / "shop"
    for folder in (".git", ".claude", below):
        (project / folder).mkdir(parents=True, exist_ok=True)
    settings = project / ".claude/settings.json"
    settings.write_text('{"disableAllHooks": true}')
    monkeypatch.chdir(project / below)
    why = f"! Claude Code: {settings}: Claude Code runs no hooks, because disableAllHooks is true"
    assert why in apo("-C", sample, "doctor").out
    monkeypatch.chdir(tmp_path)
    assert "✓ Claude Code is connected" in apo("-C", sample, "doctor").out
