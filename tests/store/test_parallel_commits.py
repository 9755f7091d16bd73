"""Processes committing at once: every acknowledged change is committed, and nothing stays staged."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine.errors import RepositoryError
from engine.store import git_folder
from engine.store.faults import fail, trip
from engine.store.files import Files
from engine.store.git_lock import left_by_us
from engine.store.repository import Repository

ROOT = Path(__file__).parents[2]


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
    return done.stdout.decode().rstrip("\n")


def run_committers(root: Path, many: int, until: float) -> list[str]:
    """Run ``many`` committing processes at once and return the lines they print."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.committer", str(root), f"w{number:02}", str(until)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(many)
    ]
    done = [each.communicate(timeout=300) for each in running]
    assert [each.returncode for each in running] == [0] * many, done
    assert [errors for _, errors in done] == [""] * many
    return [line for lines, _ in done for line in lines.splitlines()]


def check(root: Path, lines: list[str]) -> None:
    """Check that every acknowledged change is in the history, and that index and tree agree with it."""
    assert [line for line in lines if line.startswith("refused")] == []
    acknowledged = dict(line.split(" ") for line in lines)
    assert len(acknowledged) == len(lines)
    assert set(acknowledged.values()) <= set(git(root, "rev-list", "HEAD").split())
    assert set(acknowledged) <= set(git(root, "ls-tree", "-r", "--name-only", "HEAD").split("\n"))
    shared = git(root, "show", "HEAD:knowledge/shared.md").splitlines()
    assert sorted(shared) == sorted(
        "- {} {}".format(*path.removesuffix(".md").split("/")[1:]) for path in acknowledged
    )
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "fsck", "--strict") == ""
    assert not list((root / ".git").glob("index.lock*")) + list((root / ".git").glob("autopoiesis-index-*"))


def test_processes_committing_at_once_lose_no_acknowledged_commit(repository: Repository) -> None:
    root = repository.workspace.root
    lines = run_committers(root, 5, 2)
    assert len(lines) == 10
    check(root, lines)


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_sixteen_processes_commit_for_a_minute(repository: Repository) -> None:
    root = repository.workspace.root
    lines = run_committers(root, 16, time.time() + 60)
    print(f"\n{len(lines)} commits acknowledged by 16 processes in a minute, 0 lost, 0 refused")
    check(root, lines)


def test_a_commit_is_rebuilt_on_a_branch_that_moved_during_it(repository: Repository) -> None:
    root = repository.workspace.root
    Files(repository.workspace).append("knowledge/facts.md", b"- one\n")
    moved: list[None] = []

    def other_commit() -> None:
        if not moved:
            moved.append(None)
            git(root, "commit", "-q", "--allow-empty", "-m", "theirs")

    with trip("commit:object", other_commit):
        assert repository.commit(["knowledge/facts.md"], "memory: mine")
    assert [each.subject for each in repository.log()] == ["memory: mine", "theirs", "memory: first"]
    assert git(root, "status", "--short") == ""


def test_a_failure_after_moving_the_branch_leaves_nothing_staged(repository: Repository) -> None:
    root = repository.workspace.root
    Files(repository.workspace).append("knowledge/facts.md", b"- one\n")
    with trip("commit:index", fail(5)), pytest.raises(RepositoryError):
        repository.commit(["knowledge/facts.md"], "memory: mine")
    assert git(root, "log", "-1", "--format=%s") == "memory: mine"
    assert git(root, "status", "--short") == ""


def test_a_stale_index_entry_is_repaired(repository: Repository) -> None:
    root = repository.workspace.root
    old = git(root, "rev-parse", "HEAD:knowledge/facts.md")
    Files(repository.workspace).append("knowledge/facts.md", b"- one\n")
    assert repository.commit(["knowledge/facts.md"], "memory: mine")
    git(root, "update-index", "--cacheinfo", f"100644,{old},knowledge/facts.md")
    assert git(root, "status", "--short") == "MM knowledge/facts.md"
    assert repository.commit(["knowledge/facts.md"], "memory: mine") is None
    assert git(root, "status", "--short") == ""


@pytest.mark.parametrize("point", ["commit:reference", "commit:index"])
def test_the_next_commit_repairs_the_index_after_a_kill(
    repository: Repository, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, files = repository.workspace.root, Files(repository.workspace)
    monkeypatch.setenv("AUTOPOIESIS_FAULT", f"{point}:kill")
    killed = subprocess.run(
        [sys.executable, "-m", "tests.store.committer", str(root), "w", "1"], cwd=ROOT, check=False
    )
    assert killed.returncode == -9
    folder = git_folder.repository_folder(root)
    assert left_by_us(folder)
    assert repository.state().can_commit
    files.append("knowledge/facts.md", b"- one\n")
    assert repository.commit(["knowledge/facts.md"], "memory: mine")
    left = git(root, "status", "--short", "--untracked-files=all")
    is_moved = git(root, "log", "-1", "--skip=1", "--format=%s") == "memory: w 0"
    assert is_moved == (point == "commit:index")
    assert left == ("" if is_moved else "?? knowledge/shared.md\n?? knowledge/w/0.md")
    assert left_by_us(folder) is None


def test_a_commit_waits_for_another_git_holding_the_index(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.store.git_lock.PATIENCE_S", 60.0)
    root = repository.workspace.root
    Files(repository.workspace).append("knowledge/facts.md", b"- one\n")
    lock = root / ".git/index.lock"
    lock.write_bytes(b"")
    timer = threading.Timer(0.05, lock.unlink)
    timer.start()
    try:
        assert repository.commit(["knowledge/facts.md"], "memory: mine")
    finally:
        timer.join()
