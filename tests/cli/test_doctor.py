"""What ``doctor`` says about git, and that the commands mend what it says they do."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
@pytest.mark.parametrize("command", [("commit",), ("rules", "add", "Always use UTC.")])
def test_a_lock_of_a_dead_git_is_named_and_the_next_commit_removes_it(
    apo: Command, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    lock = root / ".git" / name
    lock.write_bytes(b"")
    (root / "knowledge/facts.md").write_text("# Facts\n\n- The mast is 12 m high.\n")
    refused = apo("-C", root, "commit")
    assert refused.code == 1 and f".git/{name} is" in refused.err
    os.utime(lock, (time.time() - 3600,) * 2)
    said = apo("-C", root, "doctor").out
    assert said.count(f"git: another git is running or has crashed: .git/{name} is 60 min old") == 1
    assert f"the first commit after 10 min removes .git/{name}" in said
    before = git(root, "rev-parse", "HEAD")
    ran = apo("-C", root, *command)
    assert ran.code == 0, ran.err
    assert git(root, "rev-parse", "HEAD") != before and not lock.exists()
    assert ".lock" not in apo("-C", root, "doctor").out


def test_a_lock_of_a_tag_is_named_too(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    lock = root / ".git/refs/tags/memory/daily/2026-05-01.lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 3600,) * 2)
    said = apo("-C", root, "doctor").out
    assert "on main, 0 uncommitted" in said and "memory/daily/2026-05-01.lock is 60 min old" in said
