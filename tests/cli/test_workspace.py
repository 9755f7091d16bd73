"""``init``, ``doctor`` and ``demo``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.engine import Engine
from tests.cli.conftest import Command


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_init_creates_a_workspace_without_findings(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    made = apo("init", root)
    assert made.code == 0 and "created a workspace in" in made.out
    assert made.out.endswith(f"next: autopoiesis -C {root} import\n")
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "log", "--format=%s") == "maintenance: a new memory"
    checked = apo("-C", root, "doctor")
    assert checked.code == 0, checked.out
    playbook = root / "topics" / "code-review.md"
    for activation, active in (("manual", []), ("gated", ["code-review"])):
        playbook.write_text(playbook.read_text().replace("activation: manual", f"activation: {activation}"))
        assert apo("-C", root, "trace", "Please review this diff", "--json").json["active"] == active


def test_a_folder_that_does_not_exist_is_not_taken_for_a_command(apo: Command, tmp_path: Path) -> None:
    ran = apo(tmp_path / "none")
    assert ran.code == 1 and "there is no such folder; run: autopoiesis init" in ran.err


def test_without_a_memory_the_error_names_where_to_start_or_the_workspace_around(
    apo: Command, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPOIESIS_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    for command in ([], ["topics", "list"]):
        ran = apo(*command)
        assert ran.code == 1 and ran.err.count("\n") == 1
        for name in ("init", "import", "demo"):
            assert f"autopoiesis {name}" in ran.err
    monkeypatch.chdir(sample / "topics")
    ran = apo("topics", "list")
    assert ran.code == 1 and f"autopoiesis -C {sample}" in ran.err and "init" not in ran.err


def test_init_keeps_existing_files(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    soul = root / "knowledge" / "identity" / "SOUL.md"
    soul.write_text("# I am Wren\n")
    assert apo("init", root).code == 0
    assert soul.read_text() == "# I am Wren\n"


def test_a_clone_has_the_same_bytes_even_where_git_converts_line_ends(apo: Command, tmp_path: Path) -> None:
    root, clone = tmp_path / "memory", tmp_path / "clone"
    apo("init", root)
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", str(root), str(clone))
    for path in git(root, "ls-files").splitlines():
        assert (clone / path).read_bytes() == (root / path).read_bytes(), path


def test_init_in_a_repository_commits_nothing_of_the_work_in_progress(apo: Command, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("one\n")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-qm", "mine")
    (tmp_path / "code.py").write_text("one\nin progress\n")
    (tmp_path / "draft.txt").write_text("in progress\n")
    assert "a commit of the starter files" in apo("init", tmp_path).out
    assert git(tmp_path, "status", "--porcelain").splitlines() == ["M code.py", "?? draft.txt"]
    assert "topics/code-review.md" in git(tmp_path, "ls-files")
    assert "a commit of the starter files" not in apo("init", tmp_path).out


def test_the_sample_needs_an_empty_folder(apo: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    ran = apo("init", "--sample", tmp_path)
    assert ran.code == 1 and "not empty" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]


def test_today_sets_the_last_day_of_the_sample(
    apo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The days are lived through in the tests of the sample and of the demo.
    monkeypatch.setattr("engine.agents.sample_days.live_through", lambda root: None)
    root = tmp_path / "memory"
    assert apo("init", "--sample", root, "--today", "2031-01-02").code == 0
    assert "In force: told to agents (2)" in apo("-C", root, "rules").out, "it has learned its rules"
    assert (root / "knowledge" / "journal" / "2031-01-02.md").is_file()
    assert not [path for path in root.rglob("*2026-0*") if ".git" not in path.parts]
    assert apo("-C", root, "doctor").code == 0


def test_without_a_git_identity_nothing_is_committed_and_a_hint_is_shown(
    apo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    (nobody / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    monkeypatch.setenv("HOME", str(nobody))
    root = tmp_path / "memory"
    ran = apo("init", root)
    assert ran.code == 0 and "nothing was committed" in ran.err and "run: git config --global" in ran.err
    assert "run: git config --global" in apo("-C", root, "doctor").out
    assert (root / "topics" / "code-review.md").is_file()


def test_doctor_reports_file_line_and_hint(apo: Command, sample: Path) -> None:
    (sample / "topics" / "slow.md").write_text(
        "---\ntype: topic\ntriggers:\n  - type: pattern\n    match: '(a+)+$'\n"
        "priority: urgent\n---\n\n# Slow\n\nWait.\n"
    )
    ran = apo("-C", sample, "doctor")
    assert ran.code == 1
    assert "topics/slow.md:4: pattern can take exponential time" in ran.out
    assert "topics/slow.md:6: priority 'urgent'" in ran.out
    checked = apo("-C", sample, "topics", "check")
    assert checked.code == 1 and "rewrite it as a+$" in checked.out


def test_a_memory_file_that_is_too_long_fails_the_staged_check(apo: Command, sample: Path) -> None:
    memory = sample / "knowledge" / "memory" / "MEMORY.md"
    memory.write_text(memory.read_text() + "- 2026-06-12: one more\n" * 120)
    git(sample, "add", "knowledge/memory/MEMORY.md")
    ran = apo("-C", sample, "doctor", "--staged")
    assert ran.code == 1 and "knowledge/memory/MEMORY.md" in ran.out and "200" in ran.out
    git(sample, "reset", "-q")
    assert apo("-C", sample, "doctor", "--staged").out == ""


def test_hooks_run_for_commits_made_by_hand(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    assert not (root / ".githooks").exists(), "a pull could change them there"
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho refused by the hook >&2\nexit 1\n")
    (root / "topics" / "more.md").write_text("# More\n")
    git(root, "add", "topics")
    done = subprocess.run(
        ["git", "-C", str(root), "commit", "-m", "x"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "refused by the hook" in done.stderr


def test_demo_without_a_terminal_prints_trace_and_outline(apo: Command, sample: Path) -> None:
    """What it prints when it creates the sample is tested on a terminal."""
    with Engine.open(sample) as engine:
        engine.rules.learn()
    ran = apo("demo", sample)
    assert ran.code == 0 and "creating the sample" not in ran.out
    assert "● " in ran.out and "github-pr-review" in ran.out
    assert "end of the stable prefix" in ran.out and "budget by slot" in ran.out
    assert "of your rules apply here" in ran.out
