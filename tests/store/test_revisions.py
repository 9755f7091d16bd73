"""Which commit a name or a date means, and which files it contains."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.errors import RepositoryError
from engine.store.paths import Workspace
from engine.store.repository import Repository
from engine.store.revisions import contents, described, entries, find
from tests.conftest import GIT_IDENTITY
from tests.store.history import commit, git

NOW = datetime(2026, 10, 14, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def _three_commits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("past")
    (root / "memory-config.yaml").write_bytes(b"")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_IDENTITY.items():
            patch.setenv(name, value)
        git(root, "init", "-q", "-b", "main")
        (root / "a.md").write_text("one\n")
        commit(root, "first", "2026-10-01T08:00:00+00:00")
        (root / "a.md").write_text("two\n")
        commit(root, "second", "2026-10-01T14:30:00-10:00")
        (root / "a.md").write_text("three\n")
        commit(root, "third", "2026-10-09T12:00:00+00:00")
    return root


@pytest.fixture
def past(workspace: Workspace, git_home: Path, _three_commits: Path) -> Repository:
    """Three commits: on October 1st before and after midnight in Honolulu, and on October 9th."""
    shutil.copytree(_three_commits, workspace.root, dirs_exist_ok=True)
    return Repository(workspace)


def subject(repository: Repository, text: str) -> str:
    found = find(repository, text, NOW)
    assert found is not None
    return found.subject


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-10-01", "first"),
        ("2026-10-02", "second"),
        ("2026-10-02 00:29", "first"),
        ("2026-10-02 00:30", "second"),
        ("2026-10-01 14:30 -10:00", "second"),
        ("2026-10-01T14:29-10:00", "first"),
        ("last week", "second"),
        ("3 days ago", "third"),
        ("5 days ago", "second"),
        ("2999-12-31", "third"),
        ("HEAD", "third"),
        ("main~1", "second"),
        ("HEAD^{/first}", "first"),
    ],
)
def test_names_and_dates_resolve_to_commits(past: Repository, text: str, expected: str) -> None:
    assert subject(past, text) == expected


def test_hashes_tags_and_branches_resolve_to_commits(past: Repository) -> None:
    root = past.workspace.root
    first = git(root, "rev-list", "--max-parents=0", "HEAD")
    git(root, "tag", "-a", "-m", "x", "memory/daily/2026-10-01", first)
    git(root, "branch", "other", "HEAD~1")
    assert (
        subject(past, first)
        == subject(past, first[:7])
        == subject(past, "memory/daily/2026-10-01")
        == "first"
    )
    assert subject(past, "other") == "second"
    found = find(past, first, NOW)
    assert found is not None
    assert (found.revision, found.at) == (first, datetime(2026, 10, 1, 8, tzinfo=UTC))
    assert described(found) == f"{first[:8]} of 2026-10-01 08:00 UTC “first”"


def test_a_tag_has_priority_over_a_date_of_the_same_name(past: Repository) -> None:
    git(past.workspace.root, "tag", "2026-10-01", "HEAD")
    assert subject(past, "2026-10-01") == "third"


def test_now_is_not_a_commit(past: Repository) -> None:
    assert find(past, "now", NOW) is None
    assert find(past, " NOW ", NOW) is None


def test_a_date_before_the_first_commit_raises_an_error_naming_it(past: Repository) -> None:
    with pytest.raises(RepositoryError) as caught:
        find(past, "2026-09-30", NOW)
    first = git(past.workspace.root, "rev-list", "--max-parents=0", "HEAD")
    assert "no commit up to 2026-09-30 23:59 UTC" in str(caught.value)
    assert f"the first is {first[:8]} of 2026-10-01 08:00 UTC “first”" in str(caught.value)


def test_commits_merged_later_are_not_found_before_the_merge(past: Repository) -> None:
    root = past.workspace.root
    git(root, "checkout", "-q", "-b", "side", "HEAD~2")
    (root / "b.md").write_text("side\n")
    commit(root, "on the side", "2026-10-05T00:00:00Z")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "merged", "side", at="2026-10-10T00:00:00Z")
    assert subject(past, "2026-10-06") == "second"
    assert subject(past, "2026-10-10") == "merged"


@pytest.mark.parametrize(
    "text",
    ["", "nowhere", "-rf", "--help", "--all", "--output=hacked", "HEAD:a.md", "HEAD^{tree}", "a\0b", "x\ny",
     "HEAD..main", "@{", "\ud800", "a" * 5000, "$(touch hacked)", ":(exclude)a"],
)  # fmt: skip
def test_text_that_is_neither_name_nor_date_is_rejected(past: Repository, text: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        find(past, text, NOW)
    assert "2026-10-01" in caught.value.hint
    assert "\n" not in str(caught.value) and "\0" not in str(caught.value)
    assert not (past.workspace.root / "hacked").exists()


def test_revisions_are_found_from_a_detached_head(past: Repository) -> None:
    git(past.workspace.root, "checkout", "-q", "--detach", "HEAD~1")
    assert subject(past, "HEAD") == subject(past, "2026-10-14") == "second"
    assert subject(past, "main") == "third"


def test_a_shallow_clone_reports_where_its_history_begins(past: Repository, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{past.workspace.root}", str(clone))
    shallow = Repository(Workspace.open(clone))
    assert subject(shallow, "2026-10-09") == "third"
    with pytest.raises(RepositoryError, match="shallow") as caught:
        find(shallow, "2026-10-02", NOW)
    assert "--unshallow" in caught.value.hint
    assert "third" in caught.value.what


def test_without_a_repository_or_a_commit_nothing_is_found(workspace: Workspace, git_home: Path) -> None:
    repository = Repository(workspace)
    with pytest.raises(RepositoryError, match="not a git repository") as caught:
        find(repository, "HEAD", NOW)
    assert "git init" in caught.value.hint
    git(workspace.root, "init", "-q", "-b", "main")
    for text in ("HEAD", "2026-10-01"):
        with pytest.raises(RepositoryError, match="nothing is committed yet"):
            find(repository, text, NOW)


def test_a_repository_in_a_parent_folder_is_ignored(tmp_path: Path, git_home: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "memory-config.yaml").write_text("")
    git(inner.parent, "init", "-q", "-b", "main")
    commit(inner.parent, "outer", "2026-10-01T08:00:00Z")
    with pytest.raises(RepositoryError, match="not a git repository"):
        find(Repository(Workspace.open(inner)), "HEAD", NOW)


def test_a_missing_git_is_reported(past: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RepositoryError, match="git is not installed"):
        find(past, "HEAD", NOW)


def test_a_broken_repository_is_reported(past: Repository) -> None:
    (past.workspace.root / ".git/HEAD").write_text("nonsense")
    with pytest.raises(RepositoryError, match="git cannot use the repository"):
        find(past, "2026-10-01", NOW)


def test_the_core_bare_setting_does_not_matter(past: Repository) -> None:
    git(past.workspace.root, "config", "core.bare", "true")
    assert subject(past, "HEAD") == "third"
    assert entries(past.git, git(past.workspace.root, "rev-parse", "HEAD"))


def test_odd_names_and_kinds_of_entries_are_read(past: Repository) -> None:
    root = past.workspace.root
    strange = [b"-rf", b":(exclude)a", b"line\nend.md", b"caf\xe9.md", b"$(touch x)", "ü ✓.md".encode()]
    for name in strange:
        Path(os.fsdecode(os.path.join(os.fsencode(root), name))).write_bytes(name)
    (root / "link.md").symlink_to("a.md")
    revision = commit(root, "strange", "2026-10-10T00:00:00Z")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{revision},module")
    git(root, "commit", "-q", "-m", "module", at="2026-10-11T00:00:00Z")
    found = entries(past.git, git(root, "rev-parse", "HEAD"))
    kinds = {entry.path: entry.kind for entry in found}
    assert kinds["link.md"] == "symlink"
    assert kinds["module"] == "submodule"
    files = [entry for entry in found if entry.kind == "file"]
    read = {os.fsencode(entry.path): data for entry, data in contents(past.git, files)}
    assert {name: read[name] for name in strange} == {name: name for name in strange}
    assert read[b"a.md"] == b"three\n"
    assert [entry.size for entry in files] == [len(read[os.fsencode(entry.path)]) for entry in files]


def test_many_and_large_files_are_read_in_order(past: Repository) -> None:
    root = past.workspace.root
    wanted = {f"big/{number:04}.md": os.urandom(3_000_000 if number % 9 == 0 else 7) for number in range(40)}
    wanted["empty"] = b""
    (root / "big").mkdir()
    for path, data in wanted.items():
        (root / path).write_bytes(data)
    revision = commit(root, "many", "2026-10-10T00:00:00Z")
    files = [entry for entry in entries(past.git, revision) if entry.path in wanted]
    assert [(entry.path, data) for entry, data in contents(past.git, files)] == sorted(wanted.items())
    assert list(contents(past.git, [])) == []


def test_a_missing_or_damaged_object_raises(past: Repository) -> None:
    root = past.workspace.root
    revision = git(root, "rev-parse", "HEAD")
    (file,) = [entry for entry in entries(past.git, revision) if entry.path == "a.md"]
    loose = root / ".git/objects" / file.name[:2] / file.name[2:]
    kept = loose.read_bytes()
    loose.chmod(0o600)
    loose.write_bytes(kept[:-4])
    with pytest.raises(RepositoryError):
        list(contents(past.git, [file]))
    loose.unlink()
    with pytest.raises(RepositoryError, match="missing from this clone") as caught:
        list(contents(past.git, [file]))
    assert caught.value.where == "a.md"


def test_objects_missing_from_a_partial_clone_are_not_fetched(past: Repository, tmp_path: Path) -> None:
    """The repository itself configures the remote's address and the program that connects to it."""
    git(past.workspace.root, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    address = f"file://{past.workspace.root}"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", address, str(clone))
    (clone / "memory-config.yaml").write_text("")
    canary = tmp_path / "canary"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho x >> {canary}\n")
    program.chmod(0o755)
    git(clone, "config", "remote.origin.url", "ssh://nowhere.invalid/x")
    git(clone, "config", "core.sshCommand", str(program))
    repository = Repository(Workspace.open(clone))
    found = find(repository, "HEAD", NOW)
    assert found is not None
    with pytest.raises(RepositoryError):
        files = [entry for entry in entries(repository.git, found.revision) if entry.kind == "file"]
        list(contents(repository.git, files))
    assert not canary.exists()
    subprocess.run(["git", "cat-file", "-p", "HEAD:a.md"], cwd=clone, capture_output=True, check=False)
    assert canary.exists(), "plain git does not run the program either"


def test_git_replace_references_are_ignored(past: Repository) -> None:
    root = past.workspace.root
    git(root, "replace", "HEAD", "HEAD~2")
    found = find(past, "HEAD", NOW)
    assert found is not None
    files = [entry for entry in entries(past.git, found.revision) if entry.path == "a.md"]
    assert [data for _, data in contents(past.git, files)] == [b"three\n"]


def test_filters_and_line_ending_conversion_are_not_applied(past: Repository, tmp_path: Path) -> None:
    root = past.workspace.root
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n"
    (root / "a.bin").write_bytes(pointer)
    (root / "crlf.md").write_bytes(b"a\r\nb\n")
    revision = commit(root, "stored", "2026-10-10T00:00:00Z")
    canary = tmp_path / "canary"
    (root / ".git/info/attributes").write_text("* filter=evil text eol=crlf working-tree-encoding=UTF-16\n")
    git(root, "config", "filter.evil.smudge", f"touch {canary}")
    git(root, "config", "filter.evil.required", "true")
    files = [entry for entry in entries(past.git, revision) if entry.kind == "file"]
    read = {entry.path: data for entry, data in contents(past.git, files)}
    assert read["a.bin"] == pointer
    assert read["crlf.md"] == b"a\r\nb\n"
    assert not canary.exists()


def test_a_linked_work_tree_has_the_same_history(past: Repository, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(past.workspace.root, "worktree", "add", "-q", str(linked), "HEAD~1")
    repository = Repository(Workspace.open(linked))
    assert subject(repository, "HEAD") == "second"
    shutil.rmtree(linked)


def test_a_commit_with_an_impossible_date_is_read(past: Repository) -> None:
    root = past.workspace.root
    tree = git(root, "rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nauthor A <a@b> 999999999999999 +0000\ncommitter A <a@b> 999999999999999 +0000\n\nx\n"
    revision = git(root, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw.encode())
    try:
        found = find(past, revision, NOW)
    except RepositoryError as error:
        assert "date" in error.what
    else:
        assert found is not None
