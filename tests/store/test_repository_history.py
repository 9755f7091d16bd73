from __future__ import annotations

import subprocess
from datetime import UTC

import pytest

from engine.errors import PathRefused, RepositoryError
from engine.store.files import Files
from engine.store.repository import Repository, commit_of


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
    assert (newest.revision, newest.subject) == (second, "memory: second")
    assert newest.body == "Because.\n\nSession: x"
    assert newest.at.tzinfo is UTC
    assert (first.subject, first.body) == ("memory: first", "")
    assert repository.log(1) == [newest]
    assert repository.log(0) == []
    assert repository.log(path="topics/a.md") == [newest]
    assert repository.log(path="nothing.md") == []


def test_files_of_a_revision_can_be_read(repository: Repository, second: str) -> None:
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


def test_files_missing_from_a_revision_are_not_found(repository: Repository, second: str) -> None:
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
def test_an_invalid_revision_is_rejected(repository: Repository, second: str, revision: str) -> None:
    assert commit_of(repository.git, revision) is None
    with pytest.raises(RepositoryError):
        repository.show(revision, "topics/a.md")
    with pytest.raises(RepositoryError):
        repository.files(revision)
    assert not (repository.workspace.root / "hacked").exists()


def test_hashes_tags_and_branches_resolve_to_commits(repository: Repository, second: str) -> None:
    git, root = repository.git, repository.workspace.root
    first = commit_of(git, "HEAD~1")
    subprocess.run(["git", "tag", "-a", "-m", "x", "memory/milestone/one", "HEAD~1"], cwd=root, check=True)
    assert commit_of(git, "main") == commit_of(git, second) == commit_of(git, second[:9]) == second
    assert commit_of(git, "memory/milestone/one") == first != second
    assert commit_of(git, "2999-12-31") is None, "dates are parsed by store.revisions"


def test_head_follows_commits_of_others(repository: Repository, second: str) -> None:
    assert repository.head() == (second, "memory: second")
    root = repository.workspace.root
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "by hand: ü"], cwd=root, check=True)
    head = repository.head()
    assert head is not None
    assert head[0] == repository.revision() != second
    assert head[1] == "by hand: ü"
