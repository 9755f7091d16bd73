from __future__ import annotations

import subprocess
from datetime import UTC, datetime

import pytest

from engine.errors import PathRefused, RepositoryError
from engine.store.files import Files
from engine.store.repository import Commit, Repository


@pytest.fixture
def second(repository: Repository) -> str:
    files = Files(repository.workspace)
    files.append("knowledge/facts.md", b"- \xff raw\r\n")
    files.replace("topics/a.md", b"a")
    revision = repository.commit(
        ["knowledge/facts.md", "topics/a.md"], "memory: second\n\nBecause.\n\nSession: x"
    )
    assert revision is not None
    return revision


def test_the_log_is_newest_first(repository: Repository, second: str) -> None:
    newest, first = repository.log()
    assert (newest.revision, newest.author, newest.subject) == (second, "Ada", "memory: second")
    assert newest.body == "Because.\n\nSession: x"
    assert newest.at.tzinfo is UTC
    assert (first.subject, first.body) == ("memory: first", "")
    assert repository.log(1) == [newest]
    assert repository.log(0) == []
    assert repository.log(path="topics/a.md") == [newest]
    assert repository.log(revision="HEAD~1") == [first]
    assert repository.log(path="nothing.md") == []


def test_what_a_revision_holds(repository: Repository, second: str) -> None:
    assert repository.show("HEAD", "knowledge/facts.md") == b"# Facts\n- \xff raw\r\n"
    assert repository.show("HEAD~1", "knowledge/facts.md") == b"# Facts\n"
    assert repository.show(second[:10], "./topics//a.md") == b"a"
    assert repository.files("HEAD") == [
        ".gitignore",
        "knowledge/facts.md",
        "memory-config.yaml",
        "topics/a.md",
    ]
    assert repository.files("HEAD", "topics") == ["topics/a.md"]
    assert repository.files("HEAD~1", "topics") == []


def test_what_a_revision_does_not_hold(repository: Repository, second: str) -> None:
    for path in ("topics/b.md", "topics", "*", ":(exclude)a"):
        with pytest.raises(FileNotFoundError):
            repository.show("HEAD", path)
    for path in ("../x", "/etc/passwd", ""):
        with pytest.raises(PathRefused):
            repository.show("HEAD", path)


@pytest.mark.parametrize(
    "revision",
    ["nowhere", "--help", "-n", "--output=hacked", "HEAD:topics", "", "a\0b", "HEAD^{tree}", "a b\n", "@{"],
)
def test_what_is_no_revision(repository: Repository, second: str, revision: str) -> None:
    assert repository.resolve(revision) is None
    with pytest.raises(RepositoryError):
        repository.show(revision, "topics/a.md")
    with pytest.raises(RepositoryError):
        repository.files(revision)
    with pytest.raises(RepositoryError):
        repository.log(revision=revision)
    assert not (repository.workspace.root / "hacked").exists()


def test_revisions_tags_branches_and_dates(repository: Repository, second: str) -> None:
    root = repository.workspace.root
    first = repository.resolve("HEAD~1")
    subprocess.run(["git", "tag", "-a", "-m", "x", "memory/milestone/one", "HEAD~1"], cwd=root, check=True)
    assert repository.resolve("main") == repository.resolve(second) == second
    assert repository.resolve("memory/milestone/one") == first
    assert repository.resolve("2001-01-01") is None
    assert repository.resolve("2999-12-31") == second
    environment_dates = {"2026-02-16T12:00:00Z": "at noon", "2026-02-17T00:00:00Z": "at midnight"}
    made = {}
    for date, subject in environment_dates.items():
        tree = subprocess.run(
            ["git", "commit-tree", "HEAD^{tree}", "-m", subject],
            cwd=root,
            env={**_environment(), "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date},
            input=b"",
            capture_output=True,
            check=True,
        )
        made[subject] = tree.stdout.decode().strip()
    subprocess.run(["git", "update-ref", "HEAD", made["at noon"]], cwd=root, check=True)
    assert repository.resolve("2026-02-16") == made["at noon"]
    assert repository.resolve("2026-02-16T13:30:00+01:00") == made["at noon"]
    assert repository.resolve("2026-02-16T11:59:59Z") is None
    subprocess.run(["git", "update-ref", "HEAD", made["at midnight"]], cwd=root, check=True)
    assert repository.resolve("2026-02-16") is None
    assert repository.resolve("2026-02-17") == made["at midnight"]


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def test_head_follows_what_others_commit(repository: Repository, second: str) -> None:
    assert repository.head() == (second, "memory: second")
    root = repository.workspace.root
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "by hand: ü"], cwd=root, check=True)
    head = repository.head()
    assert head is not None
    assert head[0] == repository.revision() != second
    assert head[1] == "by hand: ü"


def test_a_commit_is_a_plain_value() -> None:
    at = datetime(2026, 2, 16, tzinfo=UTC)
    assert Commit("a", at, "Ada", "x") == Commit("a", at, "Ada", "x", "")
