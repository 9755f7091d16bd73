from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from engine.errors import RepositoryError
from engine.store import git_lock
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository


def git(root: Path, *arguments: str, accept: bool = True) -> None:
    subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=accept)


@pytest.fixture
def root(repository: Repository) -> Path:
    return repository.workspace.root


def change(root: Path, text: str, subject: str) -> None:
    (root / "knowledge/facts.md").write_text(text)
    git(root, "commit", "-q", "-a", "-m", subject)


def make_conflicting_branches(root: Path) -> None:
    """A branch ``other`` that conflicts with ``main``."""
    git(root, "switch", "-q", "-c", "other")
    change(root, "theirs\n", "theirs")
    git(root, "switch", "-q", "main")
    change(root, "mine\n", "mine")


def assert_refused(repository: Repository, kind: str) -> None:
    """Check that both state queries agree, and that a commit fails with a reason and a hint."""
    state = repository.state()
    assert state.kind == repository.state(count=False).kind == kind
    assert not state.can_commit
    assert state.why
    assert state.hint
    Files(repository.workspace).append("knowledge/new.md", b"x\n")
    before = repository.revision()
    with pytest.raises(RepositoryError) as caught:
        repository.commit(["knowledge/new.md"], "memory: not now")
    assert (caught.value.what, caught.value.hint) == (state.why, state.hint)
    assert repository.revision() == before


def test_a_clean_repository_is_ready(repository: Repository, root: Path) -> None:
    state = repository.state()
    assert (state.kind, state.branch, state.dirty, state.can_commit) == ("ok", "main", 0, True)
    (root / "knowledge/facts.md").write_text("changed")
    (root / "new.md").write_text("new")
    (root / "new\nline.md").write_text("new")
    assert repository.state().dirty == 3
    assert repository.state(count=False).dirty == 0


def test_a_repository_without_commits_is_ready(workspace: Workspace, git_home: Path) -> None:
    repository = Repository(workspace)
    repository.init()
    assert repository.state().kind == "ok"
    assert repository.branch() == "main"
    assert not repository.has_commits
    assert repository.head() is None
    assert repository.revision() is None
    assert repository.log() == []


def test_init_leaves_an_existing_repository_unchanged(repository: Repository, root: Path) -> None:
    before = (root / ".git/config").read_bytes()
    repository.init()
    assert (root / ".git/config").read_bytes() == before


def test_a_missing_repository_is_reported(workspace: Workspace, git_home: Path) -> None:
    assert_refused(Repository(workspace), "none")


def test_a_repository_in_a_parent_folder_is_ignored(
    tmp_path: Path, workspace: Workspace, git_home: Path
) -> None:
    git(tmp_path, "init", "-q")
    assert_refused(Repository(workspace), "none")


def test_a_missing_git_is_reported(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_refused(repository, "no-git")
    assert repository.branch() == "main"
    assert repository.revision() is not None


def test_a_missing_identity_is_reported(repository: Repository, git_home: Path) -> None:
    (git_home / "gitconfig").write_text("")
    assert_refused(repository, "no-identity")
    assert "git config --global user.name" in repository.state().hint


def test_an_identity_from_the_environment_is_accepted(
    repository: Repository, git_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (git_home / "gitconfig").write_text("")
    for kind in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{kind}_NAME", "Bob")
        monkeypatch.setenv(f"GIT_{kind}_EMAIL", "bob@example.org")
    Files(repository.workspace).append("knowledge/facts.md", b"x\n")
    assert repository.commit(["knowledge/facts.md"], "memory: by Bob")
    assert "Bob <bob@example.org>" in repository.git.run("cat-file", "commit", "HEAD").text


def test_git_environment_variables_are_ignored(
    repository: Repository, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere/.git/index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    Files(repository.workspace).append("knowledge/facts.md", b"x\n")
    assert repository.commit(["knowledge/facts.md"], "memory: here")
    assert repository.state().dirty == 0
    assert [commit.subject for commit in repository.log()] == ["memory: here", "memory: first"]


def test_a_detached_head_is_refused(repository: Repository, root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    assert_refused(repository, "detached")
    assert repository.branch() == ""
    assert repository.has_commits


def test_a_merge_in_progress_is_refused(repository: Repository, root: Path) -> None:
    make_conflicting_branches(root)
    git(root, "merge", "other", accept=False)
    assert_refused(repository, "merging")


def test_a_rebase_in_progress_is_refused(repository: Repository, root: Path) -> None:
    make_conflicting_branches(root)
    git(root, "rebase", "other", accept=False)
    assert_refused(repository, "rebasing")


def test_a_cherry_pick_in_progress_is_refused(repository: Repository, root: Path) -> None:
    make_conflicting_branches(root)
    git(root, "cherry-pick", "other", accept=False)
    assert_refused(repository, "picking")


def test_a_revert_in_progress_is_refused(repository: Repository, root: Path) -> None:
    change(root, "one\n", "one")
    change(root, "two\n", "two")
    git(root, "revert", "HEAD~1", accept=False)
    assert_refused(repository, "reverting")


def test_a_bisect_in_progress_is_refused(repository: Repository, root: Path) -> None:
    git(root, "bisect", "start")
    assert_refused(repository, "bisecting")


def test_conflicts_without_a_merge_are_refused(repository: Repository, root: Path) -> None:
    change(root, "one\n", "one")
    (root / "knowledge/facts.md").write_text("stashed\n")
    git(root, "stash")
    change(root, "two\n", "two")
    git(root, "stash", "pop", accept=False)
    assert_refused(repository, "conflicts")


def test_a_broken_repository_is_refused(repository: Repository, root: Path) -> None:
    with (root / ".git/config").open("a") as file:
        file.write("\n[core\n")
    assert_refused(repository, "broken")


STOPPING = ("index.lock", "HEAD.lock", "refs/heads/main.lock")
"""Locks without which no commit can be made."""
OTHERS = ("packed-refs.lock", "config.lock", "refs/tags/memory/daily/2026-05-01.lock")


def locked(root: Path, name: str, age_s: float) -> Path:
    """A lock left behind by a git that was killed."""
    lock = root / ".git" / name
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - age_s,) * 2)
    return lock


@pytest.mark.parametrize("name", STOPPING)
def test_a_recent_lock_is_respected(repository: Repository, root: Path, name: str) -> None:
    lock = locked(root, name, 30)
    assert_refused(repository, "locked")
    state = repository.state()
    assert f".git/{name} is 3" in state.why
    assert f".git/{name}" in state.hint
    assert lock.exists()


@pytest.mark.parametrize("name", (*STOPPING, *OTHERS))
def test_an_old_lock_without_an_owner_is_removed(repository: Repository, root: Path, name: str) -> None:
    lock = locked(root, name, 3600)
    Files(repository.workspace).append("knowledge/facts.md", b"x\n")
    assert repository.commit(["knowledge/facts.md"], "memory: after a crash")
    assert not lock.exists()


def test_a_lock_from_before_the_clock_was_set_back_is_removed(repository: Repository, root: Path) -> None:
    lock = locked(root, "HEAD.lock", -86400)
    repository.require()
    assert not lock.exists()


def test_an_index_left_by_a_killed_commit_is_removed_once_it_is_old(
    repository: Repository, root: Path
) -> None:
    old, young = locked(root, "autopoiesis-index-ab", 3600), locked(root, "autopoiesis-index-cd.lock", 1)
    repository.recover()
    assert (old.exists(), young.exists()) == (False, True)


def test_files_that_are_no_locks_of_git_are_kept(repository: Repository, root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "project"
    elsewhere.mkdir()
    kept = elsewhere / "yarn.lock"
    kept.write_bytes(b"")
    os.utime(kept, (0, 0))
    (root / ".git/refs/linked").symlink_to(elsewhere)
    repository.recover()
    assert kept.exists()
    (root / ".git/refs").rename(root / ".git/old-refs")
    (root / ".git/refs").symlink_to(elsewhere)
    repository.recover()
    assert kept.exists()


def test_a_lock_taken_while_a_commit_is_made_is_named(
    repository: Repository, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "engine.store.commits.reach",
        lambda point: locked(root, "HEAD.lock", 0) if point == "commit:object" else None,
    )
    Files(repository.workspace).append("knowledge/facts.md", b"x\n")
    with pytest.raises(RepositoryError, match=r"has crashed: \.git/HEAD\.lock is"):
        repository.commit(["knowledge/facts.md"], "memory: not now")


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs to see other processes")
def test_an_old_lock_with_a_running_owner_is_kept(repository: Repository, root: Path) -> None:
    lock = root / ".git/index.lock"
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 3600,) * 2)
    # A git that waits for standard input, as it would for an editor.
    waiting = subprocess.Popen(["git", "hash-object", "--stdin"], cwd=root, stdin=subprocess.PIPE)
    try:
        assert_refused(repository, "locked")
        assert lock.exists()
    finally:
        waiting.communicate(b"")
    assert git_lock.clear_stale(root / ".git", root)


def test_a_linked_work_tree_is_supported(repository: Repository, root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "extract/a", str(tmp_path / "tree"))
    linked = Repository(Workspace.open(tmp_path / "tree"))
    assert linked.state().kind == "ok"
    assert linked.branch() == "extract/a"
    assert linked.revision() == repository.revision()
    Files(linked.workspace).append("knowledge/facts.md", b"x\n")
    assert linked.commit(["knowledge/facts.md"], "extract: there")
    assert linked.revision() != repository.revision()
    assert repository.state().dirty == 0


def test_a_packed_branch_is_read_without_git(
    repository: Repository, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = repository.head()
    git(root, "pack-refs", "--all")
    assert not (root / ".git/refs/heads/main").exists()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert before == (repository.revision(), "memory: first")
    assert repository.head() == before
