from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import PathRefused, RepositoryError
from engine.store.faults import trip
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.repository import Repository


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


@pytest.fixture
def root(repository: Repository) -> Path:
    return repository.workspace.root


@pytest.fixture
def files(repository: Repository) -> Files:
    return Files(repository.workspace)


def test_named_files_are_committed_and_nothing_else(repository: Repository, root: Path, files: Files) -> None:
    files.append("knowledge/facts.md", b"- one\n")
    files.replace("knowledge/people/ada.md", b"# Ada\n")
    files.replace("knowledge/people/bob.md", b"# Bob\n")
    revision = repository.commit(["knowledge/facts.md", "knowledge/people/ada.md"], "memory: two\n\nWhy.\n")
    assert revision == git(root, "rev-parse", "HEAD") == repository.revision()
    assert git(root, "show", "--format=%an <%ae>%n%B", "--name-only", "HEAD").splitlines() == [
        "Ada <ada@example.org>",
        "memory: two",
        "",
        "Why.",
        "",
        "",
        "knowledge/facts.md",
        "knowledge/people/ada.md",
    ]
    assert git(root, "status", "--short", "-uall") == "?? knowledge/people/bob.md"
    assert git(root, "fsck", "--strict") == ""


def test_without_changes_there_is_no_commit(repository: Repository, root: Path) -> None:
    before = repository.revision()
    assert repository.commit(["knowledge/facts.md"], "memory: again") is None
    assert repository.commit([], "memory: nothing") is None
    assert repository.commit(["never/was.md"], "memory: nothing") is None
    assert repository.revision() == before


def test_the_first_commit_has_no_parent(repository: Repository, root: Path) -> None:
    assert git(root, "rev-list", "--count", "HEAD") == "1"
    assert git(root, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(root, "status", "--short") == ""


def test_without_files_there_is_no_first_commit(workspace: Workspace, git_home: Path) -> None:
    repository = Repository(workspace)
    repository.init()
    assert repository.commit(["missing.md"], "memory: nothing") is None
    assert not repository.has_commits


def test_a_missing_file_is_committed_as_deleted(repository: Repository, root: Path, files: Files) -> None:
    files.remove("knowledge/facts.md")
    assert repository.commit(["knowledge/facts.md"], "memory: forget")
    assert git(root, "show", "--format=", "--name-status", "HEAD") == "D\tknowledge/facts.md"
    assert git(root, "status", "--short") == ""


def test_a_file_can_become_a_folder_and_back(repository: Repository, root: Path, files: Files) -> None:
    files.remove("knowledge/facts.md")
    files.replace("knowledge/facts.md/inside.md", b"x")
    assert repository.commit(["knowledge/facts.md/inside.md"], "memory: deeper")
    assert "knowledge/facts.md/inside.md" in repository.files("HEAD")
    assert "knowledge/facts.md" not in repository.files("HEAD")
    files.remove("knowledge/facts.md/inside.md")
    (root / "knowledge/facts.md").rmdir()
    files.replace("knowledge/facts.md", b"y")
    assert repository.commit(["knowledge/facts.md", "knowledge/facts.md/inside.md"], "memory: back")
    assert "knowledge/facts.md" in repository.files("HEAD")
    assert git(root, "status", "--short") == ""


@pytest.mark.parametrize(
    "name",
    [
        "-rf",
        "--all",
        ":(exclude)a",
        ":!a",
        ":",
        "*",
        "[a]",
        "new\nline",
        'tab\tquote"back\\slash',
        "$(touch hacked)",
        "`touch hacked`; touch hacked",
        " space ",
        "日本 🎉",
        "nf\u0301d",
        "folder/-rf",
    ],
)
def test_any_file_name_is_taken_literally(
    repository: Repository, root: Path, files: Files, name: str
) -> None:
    files.replace("a", b"not named")
    files.replace(name, b"x")
    assert repository.commit([name], "memory: odd name")
    assert git(root, "show", "--format=", "--name-only", "-z", "HEAD") == f"{name}\0"
    assert repository.show("HEAD", name) == b"x"
    assert [commit.subject for commit in repository.log(path=name)] == ["memory: odd name"]
    files.remove(name)
    assert repository.commit([name], "memory: odd name gone")
    assert name not in repository.files("HEAD")
    assert not (root / "hacked").exists()


def test_a_file_name_that_is_not_text_is_committed(repository: Repository, root: Path, files: Files) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    files.replace(name, b"x")
    assert repository.commit([name], "memory: latin")
    assert name in repository.files("HEAD")
    assert repository.show("HEAD", name) == b"x"


def test_changes_staged_by_others_stay_staged(repository: Repository, root: Path, files: Files) -> None:
    files.replace("staged.md", b"staged\n")
    git(root, "add", "staged.md")
    files.replace("staged.md", b"and edited\n")
    files.append("knowledge/facts.md", b"- one\n")
    assert repository.commit(["knowledge/facts.md"], "memory: mine")
    assert git(root, "show", "--format=", "--name-only", "HEAD") == "knowledge/facts.md"
    assert git(root, "status", "--short") == "AM staged.md"
    git(root, "commit", "-q", "-m", "theirs")
    assert git(root, "show", "--format=", "--name-only", "HEAD") == "staged.md"
    assert repository.show("HEAD", "knowledge/facts.md") == b"# Facts\n- one\n"


def test_ignored_files_are_not_committed(repository: Repository, files: Files) -> None:
    files.replace("server.key", b"secret")
    files.append("knowledge/facts.md", b"- one\n")
    assert repository.commit(["server.key", "knowledge/facts.md"], "memory: no key")
    assert "server.key" not in repository.files("HEAD")
    assert repository.commit(["server.key"], "memory: no key") is None


def test_bytes_are_committed_unchanged(repository: Repository, root: Path, files: Files) -> None:
    data = b"\xef\xbb\xbfone\r\ntwo\nthree\r\n\x00\xff"
    files.replace(".gitattributes", b"* text=auto eol=crlf\n*.md text ident\n")
    files.replace("a.md", data)
    assert repository.commit([".gitattributes", "a.md"], "memory: raw")
    assert repository.show("HEAD", "a.md") == data
    assert (root / "a.md").read_bytes() == data


def test_the_executable_bit_is_kept(repository: Repository, root: Path, files: Files) -> None:
    files.replace("run.sh", b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    assert repository.commit(["run.sh"], "memory: program")
    assert git(root, "ls-tree", "HEAD", "run.sh").startswith("100755 ")


@pytest.mark.parametrize("path", ["link.md", "folder/a.md", "knowledge", "pipe"])
def test_only_regular_files_not_behind_symlinks_are_committed(
    repository: Repository, root: Path, files: Files, path: str
) -> None:
    (root / "link.md").symlink_to("knowledge/facts.md")
    (root / "folder").symlink_to("knowledge")
    files.replace("knowledge/a.md", b"x")
    os.mkfifo(root / "pipe")
    before = repository.revision()
    files.append("knowledge/facts.md", b"- one\n")
    with pytest.raises(RepositoryError):
        repository.commit(["knowledge/facts.md", path], "memory: link")
    assert repository.revision() == before


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", "a\0", ""])
def test_paths_outside_the_workspace_are_rejected(repository: Repository, path: str) -> None:
    with pytest.raises(PathRefused):
        repository.commit([path], "memory: outside")


MARKERS = b"# Facts\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> branch\n"


@pytest.mark.parametrize("data", [MARKERS, MARKERS.replace(b"\n", b"\r\n")])
def test_conflict_markers_are_rejected(repository: Repository, files: Files, data: bytes) -> None:
    before = repository.revision()
    files.replace("knowledge/facts.md", data)
    with pytest.raises(RepositoryError) as caught:
        repository.commit(["knowledge/facts.md"], "memory: conflict")
    assert caught.value.where == "knowledge/facts.md:2"
    assert repository.revision() == before


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("raw/conversations/2026/01/01/a.md", MARKERS),
        ("conversations/a.md", MARKERS),
        ("knowledge/a.md", b"Title\n=======\n"),
        ("knowledge/a.md", b"    <<<<<<< HEAD\n    =======\n    >>>>>>> x\n"),
    ],
)
def test_a_quoted_conflict_marker_is_accepted(
    repository: Repository, files: Files, path: str, data: bytes
) -> None:
    files.replace(path, data)
    assert repository.commit([path], "memory: quoted")


def test_the_guard_is_called_for_every_file(repository: Repository, files: Files) -> None:
    asked: list[tuple[str, bytes, bytes | None]] = []

    def guard(path: str, data: bytes, before: Callable[[], bytes | None]) -> str:
        asked.append((path, data, before()))
        return "it holds a key" if b"sk-" in data else ""

    guarded = Repository(repository.workspace, guard=guard)
    files.replace("a.md", b"fine")
    files.replace("b.md", b"sk-123")
    with pytest.raises(RepositoryError) as caught:
        guarded.commit(["a.md", "b.md"], "memory: key")
    assert str(caught.value) == "b.md: was not committed: it holds a key"
    assert asked == [("a.md", b"fine", None), ("b.md", b"sk-123", None)]
    assert guarded.commit(["a.md"], "memory: fine")
    files.replace("a.md", b"finer")
    assert guarded.commit(["a.md"], "memory: finer") and asked[-1] == ("a.md", b"finer", b"fine")


def test_a_file_changed_during_the_commit_keeps_its_new_content(
    repository: Repository, root: Path, files: Files
) -> None:
    files.append("knowledge/facts.md", b"- one\n")
    before = repository.revision()

    def edit() -> None:
        (root / "knowledge/facts.md").write_bytes(b"sneaked in\n")

    with trip("commit:blobs", edit), pytest.raises(RepositoryError) as caught:
        repository.commit(["knowledge/facts.md"], "memory: race")
    assert caught.value.where == "knowledge/facts.md"
    assert repository.revision() == before


def test_a_branch_moved_during_the_commit_is_not_overwritten(
    repository: Repository, root: Path, files: Files
) -> None:
    files.append("knowledge/facts.md", b"- one\n")

    def other_commit() -> None:
        git(root, "commit", "-q", "--allow-empty", "-m", "theirs")

    with trip("commit:object", other_commit), pytest.raises(RepositoryError) as caught:
        repository.commit(["knowledge/facts.md"], "memory: mine")
    assert "try again" in caught.value.hint
    assert {commit.subject for commit in repository.log()} == {"theirs", "memory: first"}
    assert repository.commit(["knowledge/facts.md"], "memory: mine")
    assert git(root, "status", "--short") == ""


def test_any_commit_message_is_taken_literally(repository: Repository, files: Files) -> None:
    files.append("knowledge/facts.md", b"- one\n")
    assert repository.commit(["knowledge/facts.md"], "--amend $(x) ü 🎉 \ud800\0\n\n# not a comment\n\n")
    newest = repository.log(1)[0]
    assert newest.subject == "--amend $(x) ü 🎉 ?"
    assert newest.body == "# not a comment"
    with pytest.raises(RepositoryError):
        repository.commit(["knowledge/facts.md"], " \n")


def test_many_files_go_into_one_commit(repository: Repository, files: Files, root: Path) -> None:
    names = [f"raw/conversations/2026/02/16/{'x' * 150}-{index}.md" for index in range(600)]
    for name in names:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(name.encode())
    assert repository.commit(names, "conversation: import")
    assert set(names) <= set(repository.files("HEAD"))
    assert git(root, "status", "--short") == ""


def test_a_sha256_repository_is_supported(workspace: Workspace, git_home: Path) -> None:
    git(workspace.root, "init", "-q", "--object-format=sha256", "--initial-branch=main")
    repository, files = Repository(workspace), Files(workspace)
    files.replace("a.md", b"x")
    first = repository.commit(["a.md"], "memory: first")
    files.remove("a.md")
    second = repository.commit(["a.md"], "memory: second")
    assert first is not None and len(first) == 64
    assert second == repository.revision()
    assert repository.show(first, "a.md") == b"x"
