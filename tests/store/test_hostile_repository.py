"""A repository may have configuration, hooks and attributes that name programs; none of them may run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.repository import Repository

HOOKS = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "pre-auto-gc",
    "reference-transaction", "post-checkout", "post-merge", "post-rewrite", "fsmonitor-watchman",
)  # fmt: skip


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


@pytest.fixture
def hostile(repository: Repository, canary: Path, tmp_path: Path) -> Repository:
    """A repository in which everything that can name a program names one that leaves a trace."""
    root = repository.workspace.root
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{canary}"\ncat\n')
    program.chmod(0o755)
    for hook in HOOKS:
        (root / ".git/hooks").mkdir(exist_ok=True)
        (root / ".git/hooks" / hook).write_text(f'#!/bin/sh\necho "{hook}" >> "{canary}"\n')
        (root / ".git/hooks" / hook).chmod(0o755)
    included = tmp_path / "included"
    included.write_text(
        f'[filter "hidden.in"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n'
    )
    (root / ".git/config").open("a").write(
        f"""
[core]
	fsmonitor = {program}
	pager = {program}
	editor = {program}
	sshCommand = {program}
	askPass = {program}
	attributesFile = {root}/attributes
	alternateRefsCommand = {program}
[commit]
	gpgSign = true
[tag]
	gpgSign = true
[gpg]
	program = {program}
[gpg "ssh"]
	program = {program}
[log]
	showSignature = true
[pager]
	log = {program}
	status = {program}
	show = {program}
[filter "evil"]
	clean = {program}
	smudge = {program}
	required = true
[filter "a=b.c"]
	process = {program}
	required = true
[filter "UPPER lower"]
	clean = {program}
[diff]
	external = {program}
[diff "evil"]
	textconv = {program}
	command = {program}
[merge "evil"]
	driver = {program}
[credential]
	helper = {program}
[alias]
	status = !{program}
	log = !{program}
	commit-tree = !{program}
[gc]
	auto = 1
	recentObjectsHook = {program}
[interactive]
	diffFilter = {program}
[uploadpack]
	packObjectsHook = {program}
[include]
	path = {included}
"""
    )
    (root / ".gitattributes").write_text(
        "*.md filter=evil diff=evil merge=evil\n*.txt filter=a=b.c\n*.log filter=hidden.in\n"
    )
    (root / "attributes").write_text("* filter=evil diff=evil\n")
    inner = root / "inner"
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    (inner / "x").write_text("x")
    subprocess.run(["git", "add", "x"], cwd=inner, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "inner"], cwd=inner, check=True)
    subprocess.run(["git", "-c", "core.fsmonitor=", "update-index", "--add", "--cacheinfo",
                    f"160000,{_head(inner)},inner"], cwd=root, check=True, capture_output=True)  # fmt: skip
    with (inner / ".git/config").open("a") as file:
        file.write(f'[core]\n\tfsmonitor = {program}\n[filter "evil"]\n\tclean = {program}\n')
    (inner / "x").write_text("changed")
    canary.unlink(missing_ok=True)
    return repository


def _head(root: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _touch(repository: Repository) -> None:
    """Modify every kind of file, so that each command has something to process."""
    files = Files(repository.workspace)
    for name in ("knowledge/facts.md", "a.txt", "a.log"):
        files.append(name, b"one more\n")


def test_no_program_named_by_the_repository_runs(hostile: Repository, canary: Path) -> None:
    _touch(hostile)
    assert hostile.state().kind == "ok"
    names = ["knowledge/facts.md", "a.txt", "a.log", ".gitattributes"]
    assert hostile.commit(names, "memory: among thieves")
    _touch(hostile)
    state = hostile.state()
    # The three modified files; the nested repository is not counted, "attributes" is new.
    assert state.dirty >= 4
    head = hostile.head()
    assert head is not None
    assert head[1] == "memory: among thieves"
    assert hostile.log(path="knowledge/facts.md")[0].subject == "memory: among thieves"
    assert hostile.show("HEAD", "knowledge/facts.md") == b"# Facts\none more\n"
    assert "a.log" in hostile.files("HEAD")
    for command in (
        ("diff", "--stat", "-p"),
        ("diff", "HEAD~1", "HEAD"),
        ("log", "-p", "-S", "more"),
        ("show", "HEAD"),
        ("blame", "knowledge/facts.md"),
        ("status",),
        ("tag", "memory/milestone/x"),
        ("checkout", "HEAD~1", "--", "knowledge/facts.md"),
    ):
        hostile.git.run(*command, reading=False)
    assert not canary.exists(), canary.read_text()


@pytest.mark.parametrize(
    "command",
    [["git", "status"], ["git", "diff", "HEAD"], ["git", "add", "a.txt"], ["git", "commit", "-a", "-m", "x"]],
)
def test_plain_git_commands_run_the_programs(hostile: Repository, canary: Path, command: list[str]) -> None:
    _touch(hostile)
    subprocess.run(command, cwd=hostile.workspace.root, capture_output=True, check=False, timeout=30)
    assert canary.exists()


def test_a_configured_work_tree_elsewhere_is_ignored(hostile: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs.md").write_text("x")
    with (hostile.workspace.root / ".git/config").open("a") as file:
        file.write(f"[core]\n\tworktree = {elsewhere}\n")
    _touch(hostile)
    listed = hostile.git.run("ls-files", "--others", "-z").output
    assert b"theirs.md" not in listed
    assert hostile.commit(["knowledge/facts.md"], "memory: here")
    assert hostile.show("HEAD", "knowledge/facts.md").endswith(b"one more\n")
    assert os.listdir(elsewhere) == ["theirs.md"]
